#include "sim/report/deadlock.h"

#include <fmt/format.h>

#include "nodes/rule.h"

namespace fuseflow {
namespace {

std::string node_label(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  std::string outputs;
  for (const StreamId stream : node.outputs) {
    if (stream < 0) continue;
    outputs += (outputs.empty() ? "$" : ", $") + graph.streams[stream].name;
  }
  if (outputs.empty()) return fmt::format("{} (node {})", node_kind_name(node.kind), id);
  return fmt::format("{} of {}", node_kind_name(node.kind), outputs);
}

std::string wait_line(const Graph& graph, const Wait& wait) {
  const std::string& stream = graph.streams[wait.on].name;
  const std::string fill = wait.depth > 0 ? fmt::format("{} of {} tokens", wait.held, wait.depth)
                                          : fmt::format("{} tokens", wait.held);
  return fmt::format("{} waits for {} to {} ${} ({})", node_label(graph, wait.node),
                     node_label(graph, wait.other), wait.full ? "take from" : "fill", stream, fill);
}

std::string advice_line(const DepthAdvice& advice) {
  if (advice.depth > 0) {
    return fmt::format("it ends with --machine-set fifo_depth={} (tried; 0: unbounded)",
                       advice.depth);
  }
  if (advice.tried == 0) return "no depth of FIFOs frees it: a buffer of the graph is too small";
  return fmt::format("no fifo_depth up to {} frees it", advice.tried);
}

}  // namespace

std::string explain_deadlock(const Graph& graph, const Deadlock& deadlock) {
  std::string text = "deadlock: these nodes wait for each other:\n";
  if (deadlock.waits.empty()) return "deadlock; which nodes wait could not be told";
  if (deadlock.cycle.empty()) {  // a node waits for one that has ended: the graph is wrong
    text = "deadlock: these nodes wait for tokens that are never given:\n";
    for (const Wait& wait : deadlock.waits) text += "  " + wait_line(graph, wait) + "\n";
    return text + "this is a defect of the graph, not of its FIFO depths";
  }
  for (const Wait& wait : deadlock.cycle) text += "  " + wait_line(graph, wait) + "\n";
  const size_t others = deadlock.waits.size() - deadlock.cycle.size();
  if (others > 0) {
    text += fmt::format("{} more node{} wait{} for them\n", others, others == 1 ? "" : "s",
                        others == 1 ? "s" : "");
  }
  return text + advice_line(deadlock.advice);
}

}  // namespace fuseflow
