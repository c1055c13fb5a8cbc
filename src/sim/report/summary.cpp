#include "sim/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/tiles.h"
#include "ir/attribution.h"
#include "ir/names.h"
#include "nodes/rule.h"
#include "sim/report/csv.h"
#include "sim/report/deadlock.h"
#include "support/latest.h"

namespace fuseflow {
namespace {

/// The node that is busy the longest; -1 in a graph without nodes.
NodeId busiest(const RunResult& result) {
  const auto most = std::max_element(result.nodes.begin(), result.nodes.end(),
                                     [](const auto& a, const auto& b) { return a.busy < b.busy; });
  return most == result.nodes.end() ? -1 : static_cast<NodeId>(most - result.nodes.begin());
}

/// " for %t0, MatMul /layers.0/MatMul of layer layers.0", as far as it is known.
std::string purpose(const Program& program, const Attribution& attribution, size_t region,
                    const Node& node) {
  const Statement* statement = attribution.statement(region, node);
  if (statement == nullptr) return "";
  const bool obvious = program.regions[region].statements.size() == 1;
  if (obvious && !statement->from.known()) return "";
  std::string text =
      fmt::format(" for %{}", quote_if_needed(program.tensors[statement->result].name));
  if (statement->from.known()) {
    text += fmt::format(", {} {}", statement->from.op, statement->from.name);
  }
  const std::string& layer = attribution.layer(*statement);
  return layer.empty() ? text : text + " of layer " + layer;
}

std::string critical_node(const Program& program, const Attribution& attribution, size_t r,
                          const RunResult& result) {
  const Region& region = program.regions[r];
  const NodeId number = busiest(result);
  if (number < 0)
    return fmt::format("@{}: {} cycles\n", quote_if_needed(region.name), result.cycles);
  const Node& node = region.graph->nodes[number];
  const NodeStats& stats = result.nodes[number];
  const std::string tensor = tensor_of(program, node);
  const std::string outputs = outputs_of(*region.graph, node);
  const double share = 100.0 / static_cast<double>(std::max<int64_t>(1, result.cycles));
  return fmt::format(
      "@{}: {} cycles; busiest is node {}, {}{}{}{}: busy {:.1f}%, memory {:.1f}%, starved "
      "{:.1f}%, "
      "blocked {:.1f}%\n",
      quote_if_needed(region.name), result.cycles, number, node_kind_name(node.kind),
      tensor.empty() ? "" : " " + tensor, outputs.empty() ? "" : " -> " + outputs,
      purpose(program, attribution, r, node), share * static_cast<double>(stats.busy),
      share * static_cast<double>(stats.memory), share * static_cast<double>(stats.starved),
      share * static_cast<double>(stats.blocked));
}

/// FLOPs a cycle of the region's graph if every node that computes were always busy.
double compute_roof(const RunResult& result) {
  double roof = 0;
  for (const NodeStats& node : result.nodes) {
    if (node.busy > 0) roof += static_cast<double>(node.flops) / static_cast<double>(node.busy);
  }
  return roof;
}

/// Where the region is on the roofline: of the lower of its two roofs (S. Williams et al., 2009).
/// `memory` is that roof in bytes a cycle; 0: memory takes no time.
std::string roofline(const Machine& machine, const RunResult& result, double memory) {
  const double cycles = static_cast<double>(std::max<int64_t>(1, result.cycles));
  const auto bytes = static_cast<double>(result.dram_read_bytes + result.dram_write_bytes) / cycles;
  const auto flops = static_cast<double>(result.flops) / cycles;
  const double compute = compute_roof(result);
  std::string text =
      fmt::format("  {:.3g} FLOP/cycle, {:.3g} memory bytes/cycle ({:.3g} GB/s at {:g} GHz)", flops,
                  bytes, bytes * machine.clock_gigahertz, machine.clock_gigahertz);
  if (bytes > 0) text += fmt::format(", {:.3g} FLOP/byte", flops / bytes);
  const double of_compute = compute > 0 ? flops / compute : 0;
  const double of_memory = memory > 0 ? bytes / memory : 0;
  if (of_compute > 0 && of_compute >= of_memory) {
    text += fmt::format("; under the compute roof: {:.3g}% of the {:.3g} FLOP/cycle of its nodes",
                        100 * of_compute, compute);
  } else if (of_memory > 0) {
    text += fmt::format("; under the memory roof: {:.3g}% of {:.4g} bytes/cycle", 100 * of_memory,
                        memory);
  }
  return text + "\n";
}

/// The streams that blocked their producers for most cycles, if any did for long enough to matter.
std::string full_streams(const Graph& graph, const RunResult& result) {
  constexpr size_t kMost = 3;
  constexpr double kLeast = 0.01;  // of the cycles
  std::vector<size_t> order;
  for (size_t s = 0; s < result.streams.size(); ++s) {
    const auto blocked = static_cast<double>(result.streams[s].blocked);
    if (blocked > kLeast * static_cast<double>(result.cycles)) order.push_back(s);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return result.streams[a].blocked > result.streams[b].blocked;
  });
  std::string text;
  for (size_t k = 0; k < std::min(order.size(), kMost); ++k) {
    const Stream& stream = graph.streams[order[k]];
    text += fmt::format("{}${} blocked node {} for {:.1f}%", k == 0 ? "  full: " : ", ",
                        stream.name, stream.producer,
                        100 * static_cast<double>(result.streams[order[k]].blocked) /
                            static_cast<double>(std::max<int64_t>(1, result.cycles)));
  }
  if (order.size() > kMost) text += fmt::format(" (+{} streams)", order.size() - kMost);
  return text.empty() ? text : text + "\n";
}

std::string memory_line(const Machine& machine, const ProgramRun& run) {
  int64_t requests = 0;
  int64_t hits = 0;
  for (const RunResult& result : run.regions) {
    requests += result.dram_bursts;
    hits += result.memory_row_hits;
  }
  if (requests == 0) return "";
  std::string text =
      fmt::format("memory served {} requests ({:.3f} million a second of host time)", requests,
                  static_cast<double>(requests) / std::max(run.seconds, 1e-9) * 1e-6);
  if (machine.dram.model == "banked") {
    text += fmt::format(", {:.1f}% of them in open rows",
                        100.0 * static_cast<double>(hits) / static_cast<double>(requests));
  }
  return text + "\n";
}

/// What the nodes of a layer did, over all regions.
struct LayerCounts {
  int64_t busy = 0;  ///< of the busiest node of each region, added up
  int64_t flops = 0;
  int64_t bytes = 0;
};

/// A line a layer, in the order in which they first run; nothing where no layer is known.
std::string layer_lines(const Program& program, const Attribution& attribution,
                        const ProgramRun& run) {
  std::vector<std::string> order;
  std::map<std::string, LayerCounts> layers;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    std::map<std::string, int64_t> busy;
    const std::vector<NodeStats>& nodes = run.regions[r].nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const Statement* statement = attribution.statement(r, program.regions[r].graph->nodes[n]);
      const std::string layer = statement == nullptr ? "" : attribution.layer(*statement);
      if (layer.empty()) continue;
      const auto [at, is_new] = layers.try_emplace(layer);
      if (is_new) order.push_back(layer);
      at->second.flops += nodes[n].flops;
      at->second.bytes += nodes[n].read_bytes + nodes[n].write_bytes;
      busy[layer] = std::max(busy[layer], nodes[n].busy);
    }
    for (const auto& [layer, cycles] : busy) layers[layer].busy += cycles;
  }
  std::string text;
  for (const std::string& layer : order) {
    const LayerCounts& counts = layers[layer];
    text += fmt::format("layer {}: its busiest nodes {} cycles, {} FLOPs, {} bytes of tensors\n",
                        layer, counts.busy, counts.flops, counts.bytes);
  }
  return text;
}

}  // namespace

std::string bottleneck_summary(const Program& program, const Machine& machine,
                               const ProgramRun& run) {
  std::string text;
  int64_t tokens = 0;
  const Attribution attribution(program);
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Region& region = program.regions[r];
    const RunResult& result = run.regions[r];
    text += critical_node(program, attribution, r, result);
    text +=
        roofline(machine, result, machine.memory_bytes_per_cycle(region.graph->tiles.has_value()));
    text += full_streams(*region.graph, result);
    tokens += result.tokens;
  }
  text += layer_lines(program, attribution, run);
  text += memory_line(machine, run);
  text += fmt::format("simulated {} cycles, {} tokens in {:.3f} s ({:.1f} million tokens/s)\n",
                      total_cycles(run, machine), tokens, run.seconds,
                      static_cast<double>(tokens) / std::max(run.seconds, 1e-9) * 1e-6);
  return text;
}

std::string describe_finish(const Program& program, const ProgramRun& run) {
  const size_t r = run.regions.size() - 1;
  const Region& region = program.regions[r];
  const RunResult& result = run.regions[r];
  std::string why;
  switch (run.finish) {
    case Finish::done:
      return "";
    case Finish::deadlock:
      why = explain_deadlock(*region.graph, result.deadlock);
      break;
    case Finish::max_cycles:
      why = "the limit of --max-cycles was reached";
      break;
    case Finish::max_seconds:
      why = "the limit of --max-seconds was reached";
      break;
    case Finish::max_memory:
      why = "the limit of --max-memory was reached";
      break;
    case Finish::cancelled:
      why = "interrupted";
      break;
  }
  if (run.finish == Finish::max_cycles && result.cycles >= kLatest) {
    return fmt::format(
        "region @{} did not finish: it takes more cycles than can be counted, expected less data, "
        "or shorter latencies and intervals",
        quote_if_needed(region.name));
  }
  if (run.finish == Finish::max_cycles) {
    return fmt::format("region @{} did not finish: {}", quote_if_needed(region.name), why);
  }
  return fmt::format("region @{} did not finish after {} cycles: {}", quote_if_needed(region.name),
                     result.cycles, why);
}

}  // namespace fuseflow
