#include "sim/functional/node.h"

#include <algorithm>
#include <limits>

#include "nodes/rule.h"
#include "sim/functional/outer_input.h"

namespace fuseflow::engine {

EngineNode::EngineNode(const Context& context, NodeId id)
    : context_(context),
      id_(id),
      node_(context.graph.nodes[static_cast<size_t>(id)]),
      interval_(context.timings[static_cast<size_t>(id)].interval_cycles),
      latency_(context.timings[static_cast<size_t>(id)].latency_cycles) {
  sides.resize(1);
  sides.front().one_lane(node_.inputs.size(), node_.outputs.size());
  if (!reads_tensor(node_.kind) || context.rows == nullptr) return;
  const auto rows =
      context.rows->find({node_.tensor, node_.kind == NodeKind::array ? -1 : node_.level});
  if (rows == context.rows->end()) return;
  row_gates = RowGates(rows->second);
}

bool EngineNode::work() {
  given_.clear();
  start_batch();
  for (StepSource& side : sides) side.now.clear();
  if (!compute_or_disagree()) return false;
  clock->time_batch(*this);
  return true;
}

bool EngineNode::compute_or_disagree() {
  try {
    return compute();
  } catch (const Disagreement& problem) {
    disagree(problem.what);
  }
}

namespace {
constexpr int64_t kSlackElsewhere = 16;
}

int64_t EngineNode::backlog() const {
  int64_t most = clock->untimed(*this);
  for (const Output* output : outputs) {
    if (output == nullptr) continue;
    for (const Port* port : output->ports) {
      // A thread that is some more chunks ahead of another one seldom waits for it.
      const int64_t share = port->elsewhere ? kSlackElsewhere : 1;
      most = std::max(most, port->waiting() * output->weight / share);
    }
  }
  return most;
}

double EngineNode::expected() const {
  int64_t most = 0;  // tokens so far, of the stream that had most
  for (const Port* port : ports) {
    if (port != nullptr) most = std::max(most, port->taken());
  }
  for (const Output* output : outputs) {
    if (output != nullptr) most = std::max(most, output->tokens.load(std::memory_order_relaxed));
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Port* port : ports) {
    if (port == nullptr) continue;
    const int64_t waiting = port->waiting();
    const int64_t taken = port->taken();
    // A node that has not what it needs finds that out by itself.
    if (waiting <= 0 || taken == 0) continue;
    least = std::min(least, static_cast<double>(waiting) * static_cast<double>(most) /
                                static_cast<double>(taken));
  }
  return least;
}

uint32_t EngineNode::ready(size_t first, size_t count) {
  uint32_t n = UINT32_MAX;
  for (size_t i = first; i < first + count; ++i) {
    if (ports[i]) n = std::min(n, ports[i]->ready());
  }
  return n == UINT32_MAX ? 0 : n;
}

void EngineNode::read_batches(size_t first, size_t count, uint32_t n,
                              std::vector<Batch>& batches) const {
  batches.clear();
  for (size_t i = first; i < first + count; ++i) {
    if (ports[i] == nullptr) continue;
    batches.push_back(ports[i]->batch(n));
    if (batches.size() > 1) check_like(batches.front(), batches.back());
  }
}

Payload EngineNode::keeping(Payload payload, const Port& from, uint32_t tokens) const {
  if (!from.blocks || payload.data == nullptr) return payload;
  return keeping(std::move(payload), from.keepers(tokens));
}

Payload EngineNode::keeping(Payload payload,
                            std::vector<std::shared_ptr<const void>> keepers) const {
  keepers.push_back(std::move(payload.keep));
  payload.keep = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(keepers));
  return payload;
}

uint32_t EngineNode::constant_block(float value, int64_t volume) {
  constants_.push_back(std::make_unique<float[]>(static_cast<size_t>(volume)));
  std::fill_n(constants_.back().get(), volume, value);
  return context_.blocks->name(constants_.back().get(), 1, volume);
}

void EngineNode::count_steps(const Steps& steps, int64_t first, int64_t last) {
  if (stats_.steps == 0) stats_.first_step = first;
  stats_.steps += steps.count;
  stats_.last_step = last;
  steps.for_stages([this](const Stage& stage) {
    if (stage.count > 0) stats_.busy += (stage.count - 1) * stage.cost + stage.last_cost;
  });
}

void EngineNode::check_like(const Batch& a, const Batch& b) const {
  if (a.structure == b.structure && a.begin == b.begin) return;
  const bool same =
      a.stops.size() == b.stops.size() &&
      std::equal(a.stops.begin(), a.stops.end(), b.stops.begin(),
                 [&](const Stop& x, const Stop& y) {
                   return a.at(x) == b.at(y) && x.level == y.level && x.bits == y.bits;
                 });
  if (!same) disagree("two inputs of one space differ in structure");
}

}  // namespace fuseflow::engine
