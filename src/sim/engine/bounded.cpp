#include "sim/engine/bounded.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {
// Logged steps (runs of them) of a node that wait for their times, before it is set aside.
constexpr size_t kMostLogged = 1U << 14;
}  // namespace

Bounded::Bounded(const Graph& graph, const Machine& machine, const std::vector<Output>& outputs,
                 const std::vector<std::vector<std::unique_ptr<Port>>>& ports)
    : graph_(graph), machine_(machine), outputs_(outputs), memory_(make_memory(machine)) {
  fifos_.resize(graph.nodes.size());
  consumers_.resize(graph.streams.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (size_t i = 0; i < ports[n].size(); ++i) {
      fifos_[n].push_back(nullptr);
      if (ports[n][i] == nullptr) continue;
      const auto stream = static_cast<size_t>(graph.nodes[n].inputs[i].stream);
      fifos_[n].back() = std::make_unique<Fifo>(depth_of(stream));
      fifos_[n].back()->latency = outputs[stream].latency;
      consumers_[stream].push_back(fifos_[n].back().get());
    }
  }
  if (memory_) horizon_ = memory_->least_latency();
}

int64_t Bounded::depth_of(size_t stream) const {
  const Node& node = graph_.nodes[static_cast<size_t>(graph_.streams[stream].producer)];
  return node.kind == NodeKind::buffer ? node.capacity : machine_.fifo_depth;
}

int64_t Bounded::load(const std::vector<int64_t>& bytes) {
  if (!memory_) return 0;
  const int64_t size = machine_.dram.burst_bytes;
  uint64_t address = uint64_t{1} << 62;  // beside all other tensors
  int64_t ready = 0;
  for (const int64_t total : bytes) {
    MemoryPort& port = memory_ports_.emplace_back();
    port = {memory_.get(), static_cast<uint32_t>(memory_ports_.size() - 1), false, {}};
    Fifo* fifo = &extra_.emplace_back(machine_.dram.outstanding);
    fifo->memory = &port;
    burst_fifos_.push_back(fifo);
    NodeReplay request(0);
    NodeReplay store(0);
    request.outputs = {{fifo}};
    request.records = {nullptr};
    store.inputs = {fifo};
    StepLog requests;
    StepLog stores;
    const auto count = static_cast<uint32_t>((total + size - 1) / size);
    for (uint32_t k = 0; k < count; ++k, address += static_cast<uint64_t>(size)) {
      port.addresses.push_back(address);
    }
    requests.add(0, count, [](StepType& type) { type.give(0); });
    stores.add(0, count, [](StepType& type) { type.need(0, 1, 1); });
    request.fetch(requests);
    store.fetch(stores);
    while (!store.idle()) {
      while (request.advance(horizon_) || store.advance(horizon_)) {
      }
      if (!store.idle()) next_window();
    }
    ready = std::max(ready, store.last_step() + 1);
  }
  return ready;
}

void Bounded::start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start) {
  sides_.clear();
  writers_.clear();
  for (const auto& node : nodes) add_sides(*node, start);
  if (memory_) horizon_ = std::max(horizon_, start + memory_->least_latency());
}

void Bounded::note_activity(std::vector<Activity>& activity) {
  for (Side& side : sides_) {
    if (side.replay && side.last) {
      side.replay->activity = &activity[static_cast<size_t>(side.node->id())];
    }
  }
}

Fifo* Bounded::add_memory_fifo(bool write) {
  MemoryPort& port = memory_ports_.emplace_back();
  port = {memory_.get(), static_cast<uint32_t>(memory_ports_.size() - 1), write, {}};
  Fifo* fifo = &extra_.emplace_back(machine_.dram.outstanding);
  fifo->memory = &port;
  burst_fifos_.push_back(fifo);
  return fifo;
}

/// One token an event of the writer; a load may wait for many.
void Bounded::add_row_fifo(const EngineNode& load, NodeReplay& replay) {
  Fifo* fifo = &extra_.emplace_back(0);
  const Node& writes = graph_.nodes[static_cast<size_t>(load.gate.writer())];
  fifo->latency = node_timing(machine_, graph_, writes).latency_cycles;
  replay.inputs.push_back(fifo);
  writers_.at(load.gate.writer())->outputs[0].push_back(fifo);
}

void Bounded::connect_outputs(const EngineNode& node, NodeReplay& replay) {
  for (const StreamId stream : node.node().outputs) {
    replay.outputs.emplace_back();
    replay.records.push_back(nullptr);
    if (stream < 0) continue;
    replay.outputs.back() = consumers_[static_cast<size_t>(stream)];
    replay.records.back() = outputs_[static_cast<size_t>(stream)].record;
  }
}

void Bounded::add_sides(EngineNode& node, int64_t start) {
  node.log.wanted = true;
  const bool writer = node.written() != nullptr;
  const size_t count = node.before.size() + 1;
  std::vector<Fifo*> between;  // tokens and bursts from the side before
  for (size_t s = 0; s < count; ++s) {
    Side side;
    side.node = &node;
    side.last = s + 1 == count;
    side.log = side.last ? &node.log : &node.before[s];
    side.log->wanted = true;
    side.replay = std::make_unique<NodeReplay>(start);
    if (s == 0) {
      for (const auto& fifo : fifos_[static_cast<size_t>(node.id())]) {
        side.replay->inputs.push_back(fifo.get());
      }
    } else {
      side.replay->inputs = between;
    }
    if (!side.last) {
      // As many tokens wait between two sides as the outstanding bursts can hold.
      Fifo* tokens = &extra_.emplace_back(machine_.dram.outstanding *
                                          std::max<int64_t>(1, machine_.dram.burst_bytes / 4));
      tokens->latency = 0;
      Fifo* bursts = add_memory_fifo(false);
      between = {tokens, bursts};
      side.replay->outputs = {{tokens}, {bursts}};
      side.replay->records = {nullptr, nullptr};
      side.bursts = &node.bursts[s];
      side.port = bursts->memory;
    } else if (!writer) {
      connect_outputs(node, *side.replay);
    } else if (node.bursts.empty()) {  // the scratchpad: its rows may be waited for
      side.replay->outputs.emplace_back();
      side.replay->records.push_back(nullptr);
      writers_[node.id()] = side.replay.get();
    }
    if (side.last && node.gate.writer() >= 0) add_row_fifo(node, *side.replay);
    sides_.push_back(std::move(side));
  }
  if (!writer) return;
  NodeReplay& replay = *sides_.back().replay;
  for (std::vector<uint64_t>& bursts : node.bursts) {
    Fifo* fifo = add_memory_fifo(true);
    replay.outputs.push_back({fifo});
    replay.records.push_back(nullptr);
    Side feed;  // no steps of its own: it only hands the addresses on
    feed.bursts = &bursts;
    feed.port = fifo->memory;
    sides_.push_back(std::move(feed));
  }
}

void Bounded::fetch(Side& side) {
  if (side.bursts != nullptr) {
    auto& to = side.port->addresses;
    to.insert(to.end(), side.bursts->begin(), side.bursts->end());
    side.bursts->clear();
  }
  if (side.replay) side.replay->fetch(*side.log);
}

bool Bounded::sweep(bool& idle) {
  bool any = false;
  idle = false;
  for (Side& side : sides_) {
    if (!side.replay) continue;
    any = side.replay->advance(horizon_) || any;
    idle = idle || (side.replay->idle() && !side.node->ended());
  }
  return any;
}

/// Memory serves what was requested before the horizon; the horizon moves on.
bool Bounded::next_window() {
  if (!memory_) return false;
  answers_.clear();
  memory_->advance(horizon_, answers_);
  for (const MemoryAnswer& answer : answers_) {
    burst_fifos_[answer.port]->answer(answer.number, answer.time);
    last_answer_ = std::max(last_answer_, answer.time);
  }
  horizon_ += memory_->least_latency();
  return true;
}

Bounded::State Bounded::advance(const std::function<bool()>& go_on) {
  for (Side& side : sides_) fetch(side);
  for (;;) {
    bool idle = false;
    const bool any = sweep(idle);
    if (any) {
      if (!go_on()) return State::stopped;
      continue;
    }
    if (idle) return State::wants_steps;
    // Every step before the horizon is done: the window can end, if anything waits for that.
    bool waits = false;
    for (const Side& side : sides_) waits = waits || (side.replay && side.replay->waits_for_horizon());
    for (const Fifo* fifo : burst_fifos_) waits = waits || fifo->unanswered() > 0;
    if (!waits || !next_window()) return State::still;
    if (!go_on()) return State::stopped;
  }
}

EngineNode* Bounded::next_to_log(const Schedule& schedule) const {
  EngineNode* least = nullptr;
  size_t least_backlog = SIZE_MAX;
  for (size_t s = sides_.size(); s-- > 0;) {
    const Side& side = sides_[s];
    if (!side.replay || !side.last || side.node->ended() || schedule.stuck(*side.node)) continue;
    size_t backlog = side.replay->backlog() + side.log->runs.size();
    if (schedule.far_ahead(*side.node)) backlog += kMostLogged;
    if (backlog < kMostLogged) return side.node;
    if (backlog < least_backlog) {
      least_backlog = backlog;
      least = side.node;
    }
  }
  return least;
}

bool Bounded::finished() const {
  return std::all_of(sides_.begin(), sides_.end(), [](const Side& side) {
    return !side.replay || (side.replay->idle() && side.node->ended());
  });
}

int64_t Bounded::reached() const {
  int64_t last = last_answer_;
  for (const Side& side : sides_) {
    if (side.replay) last = std::max(last, side.replay->last_step());
  }
  return last + 1;
}

void Bounded::fill(NodeId node, NodeStats& stats) const {
  for (const Side& side : sides_) {
    if (side.replay && side.last && side.node->id() == node) side.replay->fill(stats);
  }
}

void Bounded::fill_peaks(std::vector<StreamStats>& streams) const {
  for (size_t s = 0; s < streams.size(); ++s) {
    for (const Fifo* fifo : consumers_[s]) {
      streams[s].peak = std::max(streams[s].peak, fifo->peak());
    }
  }
}

}  // namespace fuseflow::engine
