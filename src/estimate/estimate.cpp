#include "estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "energy/price.h"
#include "estimate/count_within.h"
#include "estimate/energy_work.h"
#include "estimate/known_extents.h"
#include "estimate/phase_counts.h"
#include "ir/slice.h"
#include "nodes/rule.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"
#include "resources/shortage.h"
#include "sim/common/conversion.h"
#include "sim/common/energy_of_run.h"
#include "sim/program_run.h"
#include "sim/tiles/run.h"
#include "support/csv.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

namespace {

using estimate::RegionCost;

std::string limit_name(const Program& program, const Graph& graph, NodeId id) {
  if (id < 0) return "";
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  std::string text = node_kind_name(node.kind);
  if (node.kind == NodeKind::map) text += fmt::format(" {}", op_info(node.op).name);
  if (node.tensor >= 0) {
    text += " %" + program.tensors[static_cast<size_t>(node.tensor)].name;
    if (node.level >= 0) text += fmt::format(".{}", node.level);
  }
  if (node.other_tensor >= 0) {
    text += " %" + program.tensors[static_cast<size_t>(node.other_tensor)].name;
    if (node.other_level >= 0) text += fmt::format(".{}", node.other_level);
  }
  return text;
}

RegionEstimate region_estimate(const Program& program, const Region& region,
                               const RegionCost& cost) {
  RegionEstimate e;
  e.region = region.name;
  e.cycles = std::ceil(cost.cycles);
  e.bound = std::floor(cost.bound);
  e.limit = limit_name(program, *region.graph, cost.limit);
  e.loading_cycles = cost.loading_cycles;
  for (const estimate::NodeCost& node : cost.nodes) {
    e.busy.push_back(node.busy);
    e.tensor_bytes.push_back(node.read_bytes + node.write_bytes);
  }
  e.add_counts(cost);
  return e;
}

void set_energy(RegionEstimate& e, const RegionEnergy& energy) {
  e.energy_pj = energy.total_pj;
  e.memory_pj = energy.memory_pj;
  e.loading_pj = energy.loading_pj;
  e.leakage_pj = energy.leakage_pj;
}

/// Energy, area, and the bounds on energy and on bytes.
void add_energy(RegionEstimate& e, const Program& program, const estimate::Structure& structure,
                const estimate::Counts& counts, const Machine& machine, const RegionCost& cost,
                const std::vector<bool>& unknown) {
  const Graph& graph = *structure.graph;
  const RegionWork expected = expected_work(structure, counts, machine, cost);
  set_energy(e, region_energy(program, graph, machine, expected));
  const RegionWork least = least_work(structure, counts, machine, cost, unknown);
  e.energy_bound_pj = region_energy(program, graph, machine, least).total_pj;
  e.dram_bytes_bound = std::floor(least_dram_bytes(structure, cost, unknown));
  e.area_mm2 = region_area_mm2(program, graph, machine);
}

/// The estimate of a graph of tiles, from the counts of the simulator.
RegionEstimate counted_estimate(const Program& program, const Region& region, const RunResult& run,
                                const Machine& machine) {
  const Graph& graph = *region.graph;
  RegionEstimate e;
  e.region = region.name;
  e.cycles = e.bound = static_cast<double>(run.cycles);
  for (const NodeStats& node : run.nodes) {
    e.busy.push_back(static_cast<double>(node.busy));
    e.tensor_bytes.push_back(static_cast<double>(node.read_bytes + node.write_bytes));
  }
  const auto longest = std::max_element(e.busy.begin(), e.busy.end());
  e.limit = limit_name(program, graph, static_cast<NodeId>(longest - e.busy.begin()));
  e.add_counts(run);
  set_energy(e, region_energy(program, graph, machine, work_of_run(graph, machine, run)));
  e.energy_bound_pj = e.energy_pj;
  e.dram_bytes_bound = e.dram_read_bytes + e.dram_write_bytes;
  e.area_mm2 = region_area_mm2(program, graph, machine);
  e.certain = true;
  return e;
}

/// Graphs of tiles: operations and their times do not depend on data.
RegionEstimate tiles_estimate(const Program& program, const Region& region,
                              const Machine& machine) {
  check_fits(program, region, machine);
  return counted_estimate(program, region, time_tiles_region(*region.graph, machine), machine);
}

/// Conversions: `arrays` is how much of a tensor is stored.
RegionEstimate conversion_estimate(const Program& program, const Region& region,
                                   const Machine& machine,
                                   const std::function<estimate::StoredArrays(TensorId)>& arrays) {
  const Node& node = region.graph->nodes[0];
  const estimate::StoredArrays from = arrays(node.other_tensor);
  const estimate::StoredArrays to = arrays(node.tensor);
  const auto tensor = [&](TensorId t) -> const Tensor& {
    return program.tensors[static_cast<size_t>(t)];
  };
  const RunResult run =
      conversion_counts({tensor(node.other_tensor), from}, {tensor(node.tensor), to}, machine);
  return counted_estimate(program, region, run, machine);
}

void add_energy_to(RegionEstimate& total, const RegionEstimate& e) {
  total.energy_pj += e.energy_pj;
  total.memory_pj += e.memory_pj;
  total.loading_pj += e.loading_pj;
  total.leakage_pj += e.leakage_pj;
  total.energy_bound_pj += e.energy_bound_pj;
  total.dram_bytes_bound += e.dram_bytes_bound;
  total.area_mm2 = std::max(total.area_mm2, e.area_mm2);
}

void finish_total(ProgramEstimate& estimate, const Machine& machine) {
  RegionEstimate& total = estimate.total;
  total.region = "total";
  const RegionEstimate* longest = nullptr;
  for (const RegionEstimate& e : estimate.regions) {
    total.cycles += e.cycles;
    total.bound += e.bound;
    total.add_counts(e);
    add_energy_to(total, e);
    if (longest == nullptr || e.cycles > longest->cycles) longest = &e;
  }
  if (longest != nullptr) total.limit = longest->region + ": " + longest->limit;
  if (estimate.regions.size() > 1) {
    const double pauses = static_cast<double>(estimate.regions.size() - 1) *
                          static_cast<double>(machine.reconfiguration_cycles);
    total.cycles += pauses;
    total.bound += pauses;
    const double leaked = static_cast<double>(estimate.regions.size() - 1) * pause_pj(machine);
    total.leakage_pj += leaked;
    total.energy_pj += leaked;
    total.energy_bound_pj += leaked;
  }
}

const Graph& graph_of(const Region& region) {
  if (!region.graph) throw Defect("region @" + region.name + " has no graph");
  return *region.graph;
}

}  // namespace

namespace {

/// What is asked of a region: energy and area take as long again as time.
enum class Figures : uint8_t { all, time };

struct EstimatedRegion {
  RegionEstimate estimate;
  std::vector<estimate::Written> written;
};

/// The region as it runs on the machine, if that has no room for its buffers as they were lowered.
std::optional<Region> with_fitted_graph(const Program& program, const Region& region,
                                        const Machine& machine) {
  std::optional<Graph> graph = with_shallower_buffers(program, graph_of(region), machine);
  if (!graph) return std::nullopt;
  Region fitted = region;
  fitted.graph = std::move(graph);
  return fitted;
}

/// `rows_left`: the most work (count_within.h). `known`: phases that were counted before; null: all
/// are counted together.
EstimatedRegion count_region(const Program& program, const Region& region, const TensorData& data,
                             const Machine& machine, const std::vector<bool>& uncertain,
                             Figures figures, size_t& rows_left,
                             estimate::PhaseCounts* known_phases) {
  if (const auto fitted = with_fitted_graph(program, region, machine)) {
    return count_region(program, *fitted, data, machine, uncertain, figures, rows_left,
                        known_phases);
  }
  if (graph_of(region).tiles) return {tiles_estimate(program, region, machine), {}};
  if (is_conversion(graph_of(region))) {
    const auto arrays = [&](TensorId t) {
      return estimate::stored_arrays(program.tensors[static_cast<size_t>(t)], data.find(t));
    };
    return {conversion_estimate(program, region, machine, arrays), {}};
  }
  const bool by_phase =
      known_phases != nullptr && estimate::PhaseCounts::may_count(graph_of(region));
  estimate::ExactCounts exact =
      by_phase ? known_phases->count(rows_left, program, graph_of(region), data, uncertain)
               : estimate::count_within(rows_left, program, graph_of(region), data, uncertain);
  TensorData known = data;
  known.storage.resize(program.tensors.size());
  for (const estimate::Written& written : exact.written) {
    known.storage[static_cast<size_t>(written.tensor)] = written.pattern;
  }
  std::vector<estimate::StoredArrays> arrays;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    arrays.push_back(
        estimate::stored_arrays(program.tensors[t], known.find(static_cast<TensorId>(t))));
  }
  const RegionCost cost = region_cost(exact.structure, exact.counts, machine, arrays);
  EstimatedRegion result{region_estimate(program, region, cost), std::move(exact.written)};
  if (figures == Figures::all) {
    std::vector<bool> unknown = uncertain;
    for (const estimate::Written& written : result.written) {
      if (!written.certain) unknown[static_cast<size_t>(written.tensor)] = true;
    }
    add_energy(result.estimate, program, exact.structure, exact.counts, machine, cost, unknown);
  }
  const std::vector<bool>& sure = exact.counts.certain;
  const std::vector<Node>& nodes = exact.structure.graph->nodes;
  result.estimate.certain = std::find(sure.begin(), sure.end(), false) == sure.end() &&
                            std::none_of(nodes.begin(), nodes.end(), [&](const Node& node) {
                              return exact.counts.finds_by_values(node);
                            });
  return result;
}

}  // namespace

RegionEstimate estimate_region(const Program& program, const Region& region, const TensorData& data,
                               const Machine& machine, const std::vector<bool>& uncertain) {
  std::vector<bool> marks = uncertain;
  marks.resize(program.tensors.size(), false);
  size_t rows_left = SIZE_MAX;
  return count_region(program, region, data, machine, marks, Figures::all, rows_left, nullptr)
      .estimate;
}

namespace {

/// Puts the patterns that the region writes into `data` and `uncertain`.
RegionEstimate keep_written(EstimatedRegion counted, TensorData& data,
                            std::vector<bool>& uncertain) {
  for (const estimate::Written& written : counted.written) {
    data.storage[static_cast<size_t>(written.tensor)] = written.pattern;
    uncertain[static_cast<size_t>(written.tensor)] = !written.certain;
  }
  return std::move(counted.estimate);
}

}  // namespace

RegionEstimate estimate_region_into(const Program& program, const Region& region, TensorData& data,
                                    std::vector<bool>& uncertain, const Machine& machine) {
  size_t rows_left = SIZE_MAX;
  return keep_written(
      count_region(program, region, data, machine, uncertain, Figures::all, rows_left, nullptr),
      data, uncertain);
}

RegionEstimate time_region_within(size_t& rows_left, const Program& program, const Region& region,
                                  TensorData& data, std::vector<bool>& uncertain,
                                  const Machine& machine, estimate::PhaseCounts& known) {
  return keep_written(
      count_region(program, region, data, machine, uncertain, Figures::time, rows_left, &known),
      data, uncertain);
}

ProgramEstimate estimate_from_data(const Program& program, const TensorData& data,
                                   const Machine& machine) {
  require_known_extents(program);
  ProgramEstimate result;
  TensorData known = data;
  known.storage.resize(program.tensors.size());
  std::vector<bool> uncertain(program.tensors.size(), false);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const RegionSlice slice = slice_region(program, r, nullptr);
    TensorData seen;
    std::vector<bool> seen_uncertain;
    for (const TensorId tensor : slice.tensors) {
      seen.storage.push_back(known.storage[static_cast<size_t>(tensor)]);
      seen_uncertain.push_back(uncertain[static_cast<size_t>(tensor)]);
    }
    result.regions.push_back(estimate_region_into(slice.program, slice.program.regions[0], seen,
                                                  seen_uncertain, machine));
    for (size_t t = 0; t < slice.tensors.size(); ++t) {
      const auto whole = static_cast<size_t>(slice.tensors[t]);
      known.storage[whole] = std::move(seen.storage[t]);
      uncertain[whole] = seen_uncertain[t];
    }
  }
  finish_total(result, machine);
  return result;
}

TensorData load_patterns(const Program& program) {
  Program sparse = program;  // the loader takes inputs and constants that are read
  for (Tensor& tensor : sparse.tensors) {
    const std::vector<LevelKind>& levels = tensor.format.levels;
    const bool dense = std::all_of(levels.begin(), levels.end(),
                                   [](LevelKind kind) { return kind == LevelKind::dense; });
    if (dense) tensor.role = Role::temporary;
  }
  return load_tensors(sparse);
}

namespace {

RegionEstimate from_statistics(const Program& program, const Region& region,
                               std::vector<estimate::TensorStatistics>& known,
                               const Machine& machine, Figures figures) {
  if (const auto fitted = with_fitted_graph(program, region, machine)) {
    return from_statistics(program, *fitted, known, machine, figures);
  }
  if (graph_of(region).tiles) return tiles_estimate(program, region, machine);
  if (is_conversion(graph_of(region))) {
    const auto arrays = [&](TensorId tensor) {
      const auto t = static_cast<size_t>(tensor);
      return estimate::stored_arrays(program.tensors[t], known[t]);
    };
    RegionEstimate result = conversion_estimate(program, region, machine, arrays);
    result.bound = result.energy_bound_pj = result.dram_bytes_bound = 0;
    result.certain = false;
    return result;
  }
  const estimate::StatisticalCounts counted =
      estimate::count_statistics(program, graph_of(region), known);
  std::vector<estimate::StoredArrays> arrays;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    arrays.push_back(estimate::stored_arrays(program.tensors[t], known[t]));
  }
  const RegionCost cost = region_cost(counted.structure, counted.counts, machine, arrays);
  RegionEstimate result = region_estimate(program, region, cost);
  if (figures == Figures::all) {
    add_energy(result, program, counted.structure, counted.counts, machine, cost,
               std::vector<bool>(program.tensors.size(), true));
  }
  result.bound = result.energy_bound_pj = result.dram_bytes_bound = 0;
  return result;
}

}  // namespace

RegionEstimate estimate_region_from_statistics(const Program& program, const Region& region,
                                               std::vector<estimate::TensorStatistics>& known,
                                               const Machine& machine) {
  return from_statistics(program, region, known, machine, Figures::all);
}

RegionEstimate time_region_from_statistics(const Program& program, const Region& region,
                                           std::vector<estimate::TensorStatistics>& known,
                                           const Machine& machine) {
  return from_statistics(program, region, known, machine, Figures::time);
}

ProgramEstimate estimate_from_statistics(const Program& program,
                                         const std::vector<estimate::TensorStatistics>& statistics,
                                         const Machine& machine) {
  require_known_extents(program);
  ProgramEstimate result;
  std::vector<estimate::TensorStatistics> known = statistics;
  known.resize(program.tensors.size());
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const RegionSlice slice = slice_region(program, r, nullptr);
    std::vector<estimate::TensorStatistics> seen;
    for (const TensorId t : slice.tensors) seen.push_back(std::move(known[static_cast<size_t>(t)]));
    result.regions.push_back(
        estimate_region_from_statistics(slice.program, slice.program.regions[0], seen, machine));
    for (size_t t = 0; t < seen.size(); ++t) {
      known[static_cast<size_t>(slice.tensors[t])] = std::move(seen[t]);
    }
  }
  finish_total(result, machine);
  return result;
}

namespace {

/// energy_pj and all columns after it.
std::string energy_fields(const Machine& machine, const RegionEstimate& e) {
  const std::string energy = machine.has_energy
                                 ? fmt::format("{:.3f},{:.6g},{:.3f},{:.3f},{:.3f},", e.energy_pj,
                                               edp(machine, e.energy_pj, e.cycles), e.memory_pj,
                                               e.loading_pj, e.leakage_pj)
                                 : std::string(5, ',');
  const std::string area = machine.has_area ? fmt::format("{:.6g}", e.area_mm2) : "";
  const std::string bound = machine.has_energy ? fmt::format("{:.3f}", e.energy_bound_pj) : "";
  return fmt::format("{}{},{},{:.0f},{:.0f}", energy, area, bound, e.dram_bytes_bound,
                     e.dram_bursts);
}

}  // namespace

std::string estimate_csv(const Program& program, const Machine& machine,
                         const ProgramEstimate& estimate) {
  std::string text =
      "schema,program,machine,region,cycles,flops,dram_read_bytes,dram_write_bytes,"
      "scratchpad_read_bytes,scratchpad_write_bytes,link_bytes,tokens,peak_fifo_tokens,checked,"
      "max_abs_error,bound_cycles,limit,lacks,strategy,seconds,energy_pj,edp,memory_pj,loading_pj,"
      "leakage_pj,area_mm2,bound_energy_pj,bound_dram_bytes,dram_bursts\n";
  std::string all_lack;
  const auto row = [&](const RegionEstimate& e, const std::string& lacks) {
    text += fmt::format(
        "{},{},{},{},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},,no,,{:.0f},{},{},{},"
        "{:.6g},{}\n",
        kCsvSchema, csv_field(program.name), csv_field(machine.name), csv_field(e.region), e.cycles,
        e.flops, e.dram_read_bytes, e.dram_write_bytes, e.scratchpad_read_bytes,
        e.scratchpad_write_bytes, e.link_bytes, e.tokens, e.bound, csv_field(e.limit), lacks,
        csv_field(program.strategy), machine.seconds_of(e.cycles), energy_fields(machine, e));
  };
  for (size_t r = 0; r < estimate.regions.size(); ++r) {
    const Region& region = program.regions[r];
    std::string lacks(lacking_part(graph_of(region), machine));
    const auto shortage = shortage_of(program, region, graph_of(region), machine);
    if (lacks.empty() && shortage) lacks = shortage->key;
    if (!lacks.empty()) all_lack = lacks;
    row(estimate.regions[r], lacks);
  }
  row(estimate.total, all_lack);
  return text;
}

}  // namespace fuseflow
