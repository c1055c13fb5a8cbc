#include "explore/trial.h"

#include <fmt/format.h>

#include "lower/lower.h"
#include "sim/program_run.h"
#include "support/error.h"

namespace fuseflow {

Evaluator::Lowered Evaluator::lower(const Point& point) const {
  Runs::Run run = runs_.make(point.first, point.last);
  Lowered result{apply_point(std::move(run.program), run.region, point), run.region, data};
  result.program.regions[run.region].graph = lower_region(result.program, run.region);
  check_fits(result.program, result.at(), machine_);
  result.data.storage.resize(result.program.tensors.size());
  for (size_t t = kernels_.tensors.size(); t < result.program.tensors.size(); ++t) {
    const Tensor& copy = result.program.tensors[t];  // in another order, made by the placement
    if (copy.source.kind == Source::Kind::none) continue;
    result.data.storage[t] = std::make_shared<const Storage>(
        load(copy.source, known_shape(copy), copy.format, copy.fill));
  }
  for (const Statement& s : result.at().statements) {
    result.data.storage[static_cast<size_t>(s.result)] = nullptr;
  }
  return result;
}

RegionEstimate Evaluator::estimate(Trial& trial, const Lowered& lowered) const {
  trial.region = lowered.at().name;
  RegionEstimate found = estimate_region(lowered.program, lowered.at(), lowered.data, machine_);
  trial.estimate = found.cycles;
  trial.bound = found.bound;
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
  const RunResult run =
      run_graph(lowered.program, *lowered.at().graph, lowered.data, machine_, options);
  // How far a run got when it was cut depends on the executor; what it had to beat does not.
  if (run.finish == Finish::max_cycles) return {"cut", goal, 0, 0, 0, ""};
  if (run.finish != Finish::done) {
    return {"failed", 0, 0, 0, 0, run.finish == Finish::deadlock ? "deadlock" : "limit"};
  }
  if (static_cast<double>(run.cycles) < trial.bound) {
    throw Error(ExitCode::internal,
                fmt::format("point {}: the bound {} is above the simulated {} cycles",
                            trial.point.id, trial.bound, run.cycles));
  }
  if (results != nullptr) {
    for (const auto& [tensor, storage] : run.results) {
      const auto t = static_cast<size_t>(tensor);
      if (t < results->storage.size()) results->storage[t] = storage;
    }
  }
  if (goal > 0 && run.cycles >= goal) return {"cut", goal, 0, 0, 0, ""};
  return {"simulated",
          run.cycles,
          run.flops,
          run.dram_read_bytes + run.dram_write_bytes,
          run.scratchpad_read_bytes + run.scratchpad_write_bytes,
          ""};
}

}  // namespace fuseflow
