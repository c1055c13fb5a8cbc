#include "sim/common/energy_of_run.h"

#include <algorithm>

namespace fuseflow {
namespace {

NodeWork work_of_node(const Node& node, const NodeStats& stats, const RunResult& run,
                      const std::vector<double>& words) {
  NodeWork work;
  work.steps = static_cast<double>(stats.steps);
  work.flops = static_cast<double>(stats.flops);
  work.read_bytes = static_cast<double>(stats.read_bytes);
  work.write_bytes = static_cast<double>(stats.write_bytes);
  const auto words_of = [&](StreamId stream) {
    const auto s = static_cast<size_t>(stream);
    return words[s] * static_cast<double>(run.streams[s].tokens);
  };
  for (const Input& input : node.inputs) {
    if (!input.is_immediate()) work.words_in += words_of(input.stream);
  }
  for (const StreamId stream : node.outputs) {
    if (stream >= 0) work.words_out += words_of(stream);
  }
  work.tile_scratchpad_read = static_cast<double>(stats.tile_scratchpad_read_bytes);
  work.tile_scratchpad_write = static_cast<double>(stats.tile_scratchpad_write_bytes);
  work.tile_link = static_cast<double>(stats.tile_link_bytes);
  work.tile_registers = static_cast<double>(stats.tile_register_bytes);
  return work;
}

/// Into the scratchpad, by no node.
int64_t loaded_bytes(const Graph& graph, const RunResult& run) {
  if (graph.tiles || is_conversion(graph)) return 0;
  int64_t loaded = run.scratchpad_write_bytes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.on_chip(graph.nodes[n].tensor)) loaded -= run.nodes[n].write_bytes;
  }
  return loaded;
}

}  // namespace

RegionWork work_of_run(const Graph& graph, const Machine& machine, const RunResult& run) {
  RegionWork work;
  const std::vector<double> words = token_words(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    work.nodes.push_back(work_of_node(graph.nodes[n], run.nodes[n], run, words));
  }
  work.cycles = static_cast<double>(run.cycles);
  work.loaded_bytes = static_cast<double>(loaded_bytes(graph, run));
  const auto bytes = static_cast<double>(run.dram_read_bytes + run.dram_write_bytes);
  work.bursts =
      run.dram_bursts > 0 ? static_cast<double>(run.dram_bursts) : bursts_of(machine, bytes);
  work.activations = machine.dram.model == "banked" && run.dram_bursts > 0
                         ? static_cast<double>(run.dram_bursts - run.memory_row_hits)
                         : machine.energy.dram_activations_per_burst * work.bursts;
  return work;
}

ProgramEnergy energy_of_run(const Program& program, const Machine& machine, const ProgramRun& run) {
  ProgramEnergy result;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Graph& graph = *program.regions[r].graph;
    const RegionEnergy energy =
        region_energy(program, graph, machine, work_of_run(graph, machine, run.regions[r]));
    result += energy;
    result.areas_mm2.push_back(region_area_mm2(program, graph, machine));
    result.area_mm2 = std::max(result.area_mm2, result.areas_mm2.back());
    result.regions.push_back(energy);
  }
  if (run.regions.empty()) return result;
  const double pauses = static_cast<double>(run.regions.size() - 1) * pause_pj(machine);
  result.leakage_pj += pauses;
  result.total_pj += pauses;
  return result;
}

}  // namespace fuseflow
