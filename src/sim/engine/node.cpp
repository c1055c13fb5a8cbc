#include "sim/engine/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/engine/credit_times.h"

namespace fuseflow::engine {

EngineNode::EngineNode(const Context& context, NodeId id)
    : context_(context), id_(id), node_(context.graph.nodes[static_cast<size_t>(id)]) {
  pace_.interval = node_timing(context.machine, context.graph, node_).interval_cycles;
  const bool loads = node_.kind == NodeKind::scan || node_.kind == NodeKind::locate ||
                     node_.kind == NodeKind::array;
  if (!loads || context.rows == nullptr) return;
  const auto rows =
      context.rows->find({node_.tensor, node_.kind == NodeKind::array ? -1 : node_.level});
  if (rows == context.rows->end()) return;
  gate = RowGate(rows->second);
  log.gate_port = node_.inputs.size();
}

namespace {
constexpr int64_t kSlackElsewhere = 16;
}

int64_t EngineNode::backlog() const {
  int64_t most = 0;
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

int64_t EngineNode::tokens() const {
  int64_t most = 0;
  for (const Port* port : ports) {
    if (port != nullptr) most = std::max(most, port->taken());
  }
  for (const Output* output : outputs) {
    if (output != nullptr) most = std::max(most, output->tokens.load(std::memory_order_relaxed));
  }
  return most;
}

double EngineNode::expected() const {
  const int64_t most = tokens();
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

void EngineNode::take(size_t first, size_t count, uint32_t n, const TimeRef& times) {
  for (size_t i = first; i < first + count; ++i) {
    if (ports[i]) ports[i]->take(n, times);
  }
}

Payload EngineNode::keeping(Payload payload, const Port& from, uint32_t tokens) const {
  if (!from.blocks || payload.data == nullptr) return payload;
  std::vector<std::shared_ptr<const void>> keepers;
  from.keepers(tokens, keepers);
  return keeping(std::move(payload), std::move(keepers));
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

void EngineNode::count_steps(int64_t n, int64_t first, int64_t busy) {
  if (n == 0) return;
  if (stats_.steps == 0) stats_.first_step = first;
  stats_.steps += n;
  stats_.last_step = pace_.last;
  stats_.busy += busy;
}

void EngineNode::count_steps(uint32_t n, const TimeRef& steps) {
  count_steps(n, steps.at(0));
  if (activity != nullptr) note_busy(*activity, steps, n, pace_.interval);
}

uint32_t EngineNode::fetch_others(size_t side, uint64_t address, uint64_t bytes) {
  const uint64_t size = context_.addresses->burst_bytes();
  uint32_t count = 0;
  for (uint64_t burst = address - address % size; burst < address + bytes; burst += size) {
    if (burst == last_burst_[side]) continue;
    last_burst_[side] = burst;
    bursts[side].push_back(burst);
    ++count;
  }
  return count;
}

uint32_t EngineNode::side_type(size_t side, uint32_t taken, uint32_t given) {
  const bool last = side == before.size();
  StepLog& target = last ? log : before[side];
  return target.type_of((taken << 16) | given, [&](StepType& type) {
    type = type_of({side, {1, 1}, taken, given, true, pace_.interval});
  });
}

StepType EngineNode::type_of(const Part& part) const {
  StepType type;
  if (part.side > 0) {
    type.need(0, part.tokens.need, part.tokens.take);
    type.need(1, part.taken, part.taken);
  }
  for (size_t i = 0; part.side == 0 && i < ports.size(); ++i) {
    if (ports[i] != nullptr) type.need(i, part.tokens.need, part.tokens.take);
  }
  if (part.side == before.size()) {
    for (size_t o = 0; part.proper && o < outputs.size(); ++o) type.give(o);
  } else {
    if (part.proper) type.give(0);
    type.give(1, part.given);
  }
  type.cost = part.cost;
  return type;
}

void EngineNode::log_part(const Part& part) {
  StepLog& target = part.side == before.size() ? log : before[part.side];
  const std::array<int64_t, 7> key{static_cast<int64_t>(part.side),
                                   part.tokens.need,
                                   part.tokens.take,
                                   part.taken,
                                   part.given,
                                   part.proper ? 1 : 0,
                                   part.cost};
  const auto [known, fresh] =
      part_types_.try_emplace(key, static_cast<uint32_t>(target.types.size()));
  if (fresh) target.types.push_back(type_of(part));
  target.put(known->second, 1);
}

void EngineNode::log_parts(size_t side, Tokens tokens, uint32_t taken, uint32_t given) {
  const auto steps_of = [this](uint32_t n) {
    return n > most_bursts_ ? (n - 1) / most_bursts_ : 0;  // beside the step proper
  };
  const int64_t more = steps_of(taken) + steps_of(given);
  int64_t left = more;
  const auto add = [&](Part part) {
    part.cost = left-- > 0 ? 1 : std::max<int64_t>(1, pace_.interval - more);
    log_part(part);
  };
  for (; taken > most_bursts_; taken -= most_bursts_) add({side, {}, most_bursts_, 0, false});
  add({side, tokens, taken, std::min(given, most_bursts_), true});
  while (given > most_bursts_) {
    given -= most_bursts_;
    add({side, {}, 0, std::min(given, most_bursts_), false});
  }
}

void EngineNode::log_uses(size_t side, uint32_t taken) {
  for (; taken > most_bursts_; taken -= most_bursts_) {
    log_part({side, {}, most_bursts_, 0, false, 1});
  }
  log_part({side, {}, taken, 0, false, 1});
}

std::string EngineNode::described(const std::string& what) const {
  const std::string text = node_text(context_.graph, graph_tensors(context_.program), id_);
  return fmt::format("node {}: {}", text, what);
}

void EngineNode::refuse(const std::string& what) const {
  throw Error(ExitCode::rejected, "the graph does not fit its data: " + described(what));
}

void EngineNode::disagree(const std::string& what) const {
  throw Error(ExitCode::internal, described(what));
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

void coalesce_ports(EngineNode& node, uint32_t few, Coalescer* coalescer) {
  for (Port* port : node.ports) {
    if (port == nullptr) continue;
    port->few = few;
    port->coalescer = coalescer;
  }
}

std::unique_ptr<EngineNode> make_node(const Context& context, NodeId id) {
  using Maker = std::unique_ptr<EngineNode> (*)(const Context&, NodeId);
  for (const Maker maker :
       {&make_source_node, &make_block_node, &make_token_node, &make_join_node, &make_reduce_node,
        &make_select_node, &make_split_node, &make_write_node}) {
    if (auto node = maker(context, id)) return node;
  }
  const Node& node = context.graph.nodes[static_cast<size_t>(id)];
  throw Error(ExitCode::rejected,
              fmt::format("the simulator cannot run a {} node yet", node_kind_name(node.kind)));
}

}  // namespace fuseflow::engine
