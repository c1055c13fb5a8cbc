// Verdicts on the regions that take a program's time: what limits each, how far it is from what
// could be, and what helps, tried. ir-spec/verdict.md.
#pragma once

#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "sim/common/program_result.h"
#include "verdict/limit.h"
#include "whatif/region_trials.h"

namespace fuseflow {

/// A change that helps, and the region's cycles with it.
struct TriedChange {
  Remedy change;
  double cycles = 0;
  bool simulated = false;  ///< else estimated
};

struct RegionVerdict {
  size_t region = 0;
  double cycles = 0;  ///< of the region; `all`: of the program
  double all = 0;
  bool waits_known = true;
  Limit limit;
  std::vector<TriedChange> tries;  ///< the best first
};

/// What is tried on, and how.
struct TrialSetup {
  const Program& given;    ///< before lowering
  const Program& lowered;  ///< all regions have graphs
  const Machine& machine;
  MachineWith machine_with;
  RunOptions run;  ///< its threads and limits count for each trial
};

/// The verdicts on a simulated program. Changes are estimated first; those that may help are
/// simulated, as far as all trials together simulate no more tokens than take some seconds.
std::vector<RegionVerdict> verdicts_of_run(const TrialSetup& setup, const ProgramRun& run);

/// The verdicts on an estimate from data, by estimates alone. `data`: everything that regions read.
std::vector<RegionVerdict> verdicts_of_estimate(const TrialSetup& setup,
                                                const ProgramEstimate& estimate,
                                                const TensorData& data);

/// Of a region of a run of which tables tell `figures` and these the `limit`: the same by estimates
/// alone. `data`: everything that the region reads.
RegionVerdict verdict_of_figures(const TrialSetup& setup, size_t region, const TensorData& data,
                                 const RegionFigures& figures, const Limit& limit);

/// What regions of a lowered program read, those tensors that other regions compute as an estimate
/// expects them.
TensorData expected_data(const Program& program, const Machine& machine);

/// The changes that help, as commands, each with the region's cycles and how many times as fast
/// that is; that nothing helps where nothing does.
std::string tries_words(const RegionVerdict& verdict);

/// Three lines a region: what limits it, how far it is from its roof, what to try.
std::string verdict_lines(const TrialSetup& setup, const std::vector<RegionVerdict>& verdicts);

/// What a run counted of a region; what an estimate says of it.
RegionFigures figures_of(const RunResult& result);
RegionFigures figures_of(const RegionEstimate& region);

}  // namespace fuseflow
