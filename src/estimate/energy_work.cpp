#include "estimate/energy_work.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::estimate {
namespace {

double least_bytes(const Node& node, const NodeCost& cost, const std::vector<bool>& unknown) {
  bool sure = node.tensor >= 0;
  for_tensors(node, [&](TensorId t) { sure = sure && !unknown[static_cast<size_t>(t)]; });
  return sure ? cost.least_bytes : 0;
}

enum class CountKind : uint8_t { expected, least };

class Work {
 public:
  Work(const Structure& s, const Counts& counts, const RegionCost& cost, CountKind known,
       const std::vector<bool>& unknown)
      : s_(s),
        counts_(counts),
        cost_(cost),
        known_(known),
        unknown_(unknown),
        words_(token_words(*s.graph)) {}

  NodeWork of_node(size_t n) const {
    const Node& node = s_.graph->nodes[n];
    const NodeCost& cost = cost_.nodes[n];
    NodeWork work;
    work.steps = known_ == CountKind::least ? cost.least_steps : cost.steps;
    if (known_ == CountKind::expected) {
      work.read_bytes = cost.read_bytes;
      work.write_bytes = cost.write_bytes;
    } else {
      work.read_bytes = least_bytes(node, cost, unknown_);  // read or written costs the same
    }
    if (known_ == CountKind::expected || cost.certain) work.flops = cost.flops;
    for (const Input& input : node.inputs) {
      if (!input.is_immediate()) work.words_in += words_of(input.stream);
    }
    for (const StreamId stream : node.outputs) {
      const bool taken = stream >= 0 && s_.consumers[static_cast<size_t>(stream)] > 0;
      if (taken) work.words_out += words_of(stream);
    }
    return work;
  }

 private:
  double words_of(StreamId stream) const {
    const auto space = static_cast<size_t>(s_.space_of(stream));
    if (known_ == CountKind::least && !counts_.certain[space]) return 0;
    return words_[static_cast<size_t>(stream)] * counts_.space[space].tokens();
  }

  const Structure& s_;
  const Counts& counts_;
  const RegionCost& cost_;
  const CountKind known_;
  const std::vector<bool>& unknown_;
  const std::vector<double> words_;
};

/// What is loaded may be a result of which only an estimate is known.
bool all_certain(const RegionCost& cost) {
  return std::all_of(cost.nodes.begin(), cost.nodes.end(),
                     [](const NodeCost& node) { return node.certain; });
}

}  // namespace

RegionWork expected_work(const Structure& structure, const Counts& counts, const Machine& machine,
                         const RegionCost& cost) {
  RegionWork work;
  const std::vector<bool> none;  // of what is expected nothing is left out
  const Work nodes(structure, counts, cost, CountKind::expected, none);
  for (size_t n = 0; n < cost.nodes.size(); ++n) work.nodes.push_back(nodes.of_node(n));
  work.cycles = std::ceil(cost.cycles);
  work.loaded_bytes = cost.loaded_bytes;
  work.bursts = machine.dram.model == "none"
                    ? bursts_of(machine, cost.dram_read_bytes + cost.dram_write_bytes)
                    : cost.dram_bursts;
  work.activations = machine.energy.dram_activations_per_burst * work.bursts;
  return work;
}

RegionWork least_work(const Structure& structure, const Counts& counts, const Machine& machine,
                      const RegionCost& cost, const std::vector<bool>& unknown) {
  RegionWork work;
  const Work nodes(structure, counts, cost, CountKind::least, unknown);
  for (size_t n = 0; n < cost.nodes.size(); ++n) work.nodes.push_back(nodes.of_node(n));
  work.cycles = std::floor(cost.bound);
  if (all_certain(cost)) work.loaded_bytes = cost.loaded_bytes;
  if (machine.dram.model != "none") return work;
  work.bursts = bursts_of(machine, least_dram_bytes(structure, cost, unknown));
  work.activations = machine.energy.dram_activations_per_burst * work.bursts;
  return work;
}

double least_dram_bytes(const Structure& structure, const RegionCost& cost,
                        const std::vector<bool>& unknown) {
  const Graph& graph = *structure.graph;
  double bytes = all_certain(cost) ? cost.loaded_bytes : 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!graph.on_chip(node.tensor)) bytes += least_bytes(node, cost.nodes[n], unknown);
  }
  return bytes;
}

}  // namespace fuseflow::estimate
