#include "explore/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lower/lower.h"
#include "sim/common/energy_of_run.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

/// What nest_tuples had to leave, because a graph of the program reads it.
void refuse_tuples(const Evaluator::Lowered& lowered) {
  for (const Node& node : lowered.at().graph->nodes) {
    for_tensors(node, [&](TensorId id) {
      const Tensor& tensor = lowered.program.tensors[static_cast<size_t>(id)];
      const auto& levels = tensor.format.levels;
      if (std::find(levels.begin(), levels.end(), LevelKind::singleton) == levels.end()) return;
      throw Error(ExitCode::rejected,
                  fmt::format("%{} is stored as tuples, which a graph of the program reads; "
                              "expected compressed levels",
                              tensor.name));
    });
  }
}

PointResult counted(const Evaluator::Lowered& lowered, const Machine& machine,
                    const RunResult& run) {
  const Graph& graph = *lowered.at().graph;
  const RegionEnergy energy =
      region_energy(lowered.program, graph, machine, work_of_run(graph, machine, run));
  return {PointStatus::simulated,
          run.cycles,
          run.flops,
          run.dram_read_bytes + run.dram_write_bytes,
          run.scratchpad_read_bytes + run.scratchpad_write_bytes,
          "",
          std::llround(energy.total_pj)};
}

void assert_bounds(const Trial& trial, const Amounts& simulated) {
  const auto check = [&](const char* what, double bound, double found) {
    if (found >= bound) return;
    throw Error(ExitCode::internal,
                fmt::format("point {}: the bound {} is above the simulated {} {}", trial.point.id,
                            bound, found, what));
  };
  check("cycles", trial.least.cycles, simulated.cycles);
  check("pJ", trial.least.energy_pj, simulated.energy_pj);
  check("bytes of memory", trial.least.dram_bytes, simulated.dram_bytes);
}

}  // namespace

Evaluator::Lowered Evaluator::lower(const Point& point) const {
  Runs::Run run = runs_.make(point.first, point.last);
  Lowered result{apply_point(std::move(run.program), run.region, point), run.region, data};
  if (!result.at().graph) {
    result.program.regions[run.region].graph = lower_region(result.program, run.region);
    refuse_tuples(result);
  }
  check_fits(result.program, result.at(), machine_);
  result.data.storage.resize(result.program.tensors.size());
  for (size_t t = kernels_.tensors.size(); t < result.program.tensors.size(); ++t) {
    const Tensor& copy = result.program.tensors[t];  // in another order, made by the placement
    if (copy.source.kind == Source::Kind::none) continue;
    result.data.storage[t] = std::make_shared<const Storage>(
        load(copy.source, known_shape(copy), copy.format, copy.fill, {.element = copy.type}));
  }
  for (const Statement& s : result.at().statements) {
    result.data.storage[static_cast<size_t>(s.result)] = nullptr;
  }
  return result;
}

RegionEstimate Evaluator::estimate(Trial& trial, const Lowered& lowered) const {
  trial.region = lowered.at().name;
  RegionEstimate found = estimate_region(lowered.program, lowered.at(), lowered.data, machine_);
  trial.expected = {found.cycles, found.energy_pj, found.dram_read_bytes + found.dram_write_bytes};
  trial.least = {found.bound, std::floor(found.energy_bound_pj), found.dram_bytes_bound};
  trial.estimate = cost_of(objective_, trial.expected);
  trial.bound = cost_of(objective_, trial.least);
  return found;
}

PointResult Evaluator::simulate(const Trial& trial, int64_t goal, TensorData* results,
                                int threads) const {
  const Lowered lowered = lower(trial.point);
  RunOptions options;
  options.executor = Executor::fast;
  options.threads = threads;
  options.max_cycles = goal;
  options.explain_deadlock = false;
  options.cancel = &interrupt_flag();
  const RunResult run =
      run_graph(lowered.program, *lowered.at().graph, lowered.data, machine_, options);
  // How far a run got when it was cut depends on the executor; what it had to beat does not.
  if (run.finish == Finish::max_cycles) return {PointStatus::cut, goal, 0, 0, 0, ""};
  if (run.finish == Finish::cancelled) return {PointStatus::unvisited, 0, 0, 0, 0, ""};
  if (run.finish != Finish::done) {
    return {PointStatus::failed, 0, 0, 0, 0, run.finish == Finish::deadlock ? "deadlock" : "limit"};
  }
  const PointResult result = counted(lowered, machine_, run);
  assert_bounds(trial, amounts_of(result));
  if (results != nullptr) {
    for (const auto& [tensor, storage] : run.results) {
      const auto t = static_cast<size_t>(tensor);
      if (t < results->storage.size()) results->storage[t] = storage;
    }
  }
  if (goal > 0 && run.cycles >= goal) return {PointStatus::cut, goal, 0, 0, 0, ""};
  return result;
}

}  // namespace fuseflow
