#include "verdict/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/names.h"
#include "nodes/rule.h"
#include "ops/op.h"

namespace fuseflow {
namespace {

constexpr double kEvenly = 0.5;  ///< of the bandwidth, if all channels are asked for alike

std::string percent(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

std::string tensor_words(const Program& program, TensorId tensor, int level) {
  if (tensor < 0) return "";
  const std::string name =
      " %" + quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name);
  return level < 0 ? name : name + fmt::format(" level {}", level);
}

std::string stream_words(const Graph& graph, StreamId stream) {
  return "$" + quote_if_needed(graph.streams[static_cast<size_t>(stream)].name);
}

/// Tokens that it has room for; 0: not known.
int64_t depth_of(const Graph& graph, const Machine& machine, StreamId stream) {
  const Node& producer =
      graph.nodes[static_cast<size_t>(graph.streams[static_cast<size_t>(stream)].producer)];
  const bool sized = producer.kind == NodeKind::buffer && producer.capacity > 0;
  return sized ? producer.capacity : machine.fifo_depth;
}

std::string full_words(const Program& program, const Graph& graph, const Machine& machine,
                       const Limit& limit) {
  const NodeId producer = graph.streams[static_cast<size_t>(limit.stream)].producer;
  const int64_t depth = depth_of(graph, machine, limit.stream);
  return fmt::format("{}{} is full and blocks {} {} of the time", stream_words(graph, limit.stream),
                     depth > 0 ? fmt::format(" (room for {})", depth) : "",
                     node_words(program, graph, producer), percent(limit.stream_share));
}

std::string cause_words(const Program& program, const Graph& graph, const Machine& machine,
                        const Limit& limit, bool waits_known) {
  const std::string node =
      limit.node < 0 ? std::string("nothing") : node_words(program, graph, limit.node);
  switch (limit.kind) {
    case LimitKind::compute:
      return fmt::format("compute of {}: busy {} of the time", node, percent(limit.share));
    case LimitKind::reader:
      return fmt::format("one reader, {}: busy {} of the time", node, percent(limit.share));
    case LimitKind::writer:
      return fmt::format("one writer, {}: busy {} of the time", node, percent(limit.share));
    case LimitKind::bandwidth:
      return fmt::format(
          "memory bandwidth{}: {} of {:.4g} bytes/cycle",
          limit.share < kEvenly ? " of the few channels that hold what it asks for" : "",
          percent(limit.share), machine.memory_bytes_per_cycle(graph.tiles.has_value()));
    case LimitKind::latency:
      if (!waits_known) return "memory latency";
      return fmt::format("memory latency: {} waits for answers {} of the time", node,
                         percent(limit.share)) +
             (limit.stream < 0 ? "" : "; " + full_words(program, graph, machine, limit));
    case LimitKind::fifo:
      if (!waits_known) return fmt::format("FIFOs (room for {})", machine.fifo_depth);
      return fmt::format("the FIFO of one stream: {}", full_words(program, graph, machine, limit));
    case LimitKind::loading:
      return fmt::format("loading the scratchpad: {} of the time, at {} of {:.4g} bytes/cycle",
                         percent(limit.share), percent(limit.bytes_share),
                         machine.memory_bytes_per_cycle(graph.tiles.has_value()));
    case LimitKind::start:
      return fmt::format(
          "steps that wait for each other: the busiest node, {}, is in a step only {} of the time",
          node, percent(limit.share));
  }
  return "";
}

}  // namespace

std::string node_words(const Program& program, const Graph& graph, NodeId number) {
  const Node& node = graph.nodes[static_cast<size_t>(number)];
  const NodeFields& fields = node_rule(node.kind).fields;
  std::string text = fmt::format("node {}, {}", number, node_kind_name(node.kind));
  if (fields.op) text += fmt::format(" {}", op_info(node.op).name);
  if (fields.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
  return text + tensor_words(program, node.tensor, node.level) +
         tensor_words(program, node.other_tensor, node.other_level);
}

std::string limit_words(const Program& program, const Graph& graph, const Machine& machine,
                        const Limit& limit, bool waits_known) {
  std::string cause = cause_words(program, graph, machine, limit, waits_known);
  if (limit.loading_share > 0 && limit.kind != LimitKind::loading) {
    cause += "; before, loading the scratchpad takes " + percent(limit.loading_share);
  }
  if (limit.phase < 0) return "limited by " + cause;
  return fmt::format(
      "limited by serial phases: phase {} of {} that follow each other takes {} of the cycles, "
      "limited by {}",
      limit.phase, limit.phases, percent(limit.phase_share), cause);
}

std::string roof_words(const Program& program, const Graph& graph, const Limit& limit,
                       double cycles) {
  std::vector<std::string> parts = {limit.least_node < 0
                                        ? std::string("the bytes of memory")
                                        : node_words(program, graph, limit.least_node)};
  if (limit.phases > 1) parts.emplace_back("those of the other phases");
  if (limit.loading_share > 0) parts.emplace_back("loading");
  const bool one = parts.size() == 1;
  const std::string who = fmt::format("{}{}{}", fmt::join(parts, " and "), one ? " alone" : "",
                                      one && limit.least_node >= 0 ? " takes" : " take");
  return fmt::format("{} {:.0f} cycles, {} of its {:.0f}", who, std::ceil(limit.least_cycles),
                     percent(std::min(1.0, limit.least_cycles / std::max(1.0, cycles))), cycles);
}

}  // namespace fuseflow
