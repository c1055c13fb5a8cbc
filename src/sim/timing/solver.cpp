#include "sim/timing/solver.h"

#include <algorithm>
#include <map>

#include "sim/timing/aliased_streams.h"
#include "sim/timing/holding.h"
#include "sim/timing/occupancy.h"

namespace fuseflow::engine {

/// The most tokens that a port of a node with a clock holds, and so all streams that hold the same.
class alignas(kCacheLine) Solver::PortWatch : public PortObserver {
 public:
  std::vector<StreamId> streams;

  void take(const TimeRef& gives, const TimeRef& takes, uint32_t n) override {
    occupancy_.add(gives, takes, n);
  }
  int64_t peak() const { return occupancy_.peak(); }

 private:
  Occupancy occupancy_;
};

Solver::Solver(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
               NodePorts& ports)
    : graph_(graph),
      machine_(machine),
      timings_(timings),
      ports_(ports),
      clocks_(graph.nodes.size()),
      memory_{make_memory(machine)} {}

Solver::~Solver() = default;

int64_t Solver::load(int64_t bursts) {
  return Component(graph_, machine_, timings_, &memory_, {}, ports_, 0).load(bursts);
}

void Solver::start_untimed(const std::vector<std::unique_ptr<EngineNode>>& nodes) {
  nodes_ = &nodes;
  components_.clear();
  for (auto& clock : clocks_) clock.reset();
  for (const auto& node : nodes) add_clock(*node, 0);
}

void Solver::start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start) {
  nodes_ = &nodes;
  for (auto& clock : clocks_) clock.reset();
  watches_.clear();
  components_.clear();
  const std::vector<int> component = find_components(graph_, machine_, nodes);
  std::map<int, std::vector<EngineNode*>> members;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (component[i] != kAlone) {
      members[component[i]].push_back(nodes[i].get());
      continue;
    }
    add_clock(*nodes[i], start);
    watch_inputs(*nodes[i]);
  }
  for (const auto& [number, own] : members) {
    SharedMemory* memory = number == kMemory ? &memory_ : nullptr;
    components_.push_back(
        std::make_unique<Component>(graph_, machine_, timings_, memory, own, ports_, start));
  }
}

void Solver::add_clock(EngineNode& node, int64_t start) {
  auto& clock = clocks_[node.id()];
  clock = std::make_unique<BatchClock>(node.interval(), start);
  node.clock = clock.get();
}

/// Watches the inputs of a node; of several streams that hold the same tokens one is measured.
void Solver::watch_inputs(const EngineNode& node) {
  const std::vector<size_t> aliased = aliased_inputs(graph_, node.node());
  std::vector<PortWatch*> own(node.ports.size());
  for (size_t i = 0; i < own.size(); ++i) {
    if (node.ports[i] == nullptr) continue;
    if (aliased[i] == i) {
      watches_.push_back(std::make_unique<PortWatch>());
      node.ports[i]->observer = watches_.back().get();
    }
    own[i] = aliased[i] == i ? watches_.back().get() : own[aliased[i]];
    own[i]->streams.push_back(node.node().inputs[i].stream);
  }
}

void Solver::note_activity(RunResult& result) {
  for (size_t n = 0; n < clocks_.size(); ++n) {
    if (clocks_[n] == nullptr) continue;
    clocks_[n]->activity = &result.activity[n];
  }
  for (const auto& component : components_) component->note_activity(result);
}

void Solver::charge_streams() {
  for (const auto& component : components_) component->charge_streams();
}

bool Solver::give_parts() {
  bool any = false;
  for (const auto& component : components_) any = component->give_parts() || any;
  return any;
}

bool Solver::finished() const {
  return std::all_of(components_.begin(), components_.end(),
                     [](const auto& component) { return component->finished(); });
}

int64_t Solver::reached() const {
  int64_t reached = 0;
  for (const auto& node : *nodes_) reached = std::max(reached, node->stats().last_step + 1);
  for (const auto& component : components_) reached = std::max(reached, component->reached());
  return reached;
}

int64_t Solver::bytes() const {
  int64_t sum = 0;
  for (const auto& component : components_) sum += component->bytes();
  return sum;
}

void Solver::fill_streams(std::vector<StreamStats>& streams) {
  for (const auto& watch : watches_) {
    for (const StreamId stream : watch->streams) {
      int64_t& peak = streams[stream].peak;
      peak = std::max(peak, watch->peak());
    }
  }
  for (const auto& component : components_) component->fill_streams(streams);
}

}  // namespace fuseflow::engine
