#include "explore/search_program.h"

#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>

#include "explore/candidates.h"
#include "explore/estimates.h"
#include "explore/outcome.h"
#include "explore/seeds.h"
#include "explore/simulation.h"
#include "explore/unfused.h"
#include "explore/whole_program.h"
#include "explore/worth_trying.h"
#include "sim/program_run.h"
#include "support/interrupt.h"
#include "support/stop.h"

namespace fuseflow {

namespace {

constexpr double kCandidatesShare = 0.5;  ///< of the time budget, estimates included

/// Whether some kernel has a form of tiles in a seed.
bool have_tiles(const std::vector<Seed>& seeds) {
  return std::any_of(seeds.begin(), seeds.end(), [](const Seed& seed) {
    return std::any_of(seed.parts.begin(), seed.parts.end(),
                       [](const Seed::Part& part) { return part.planned != nullptr; });
  });
}

/// Adds what is planned for the machine's cores, within the time budget where there is something
/// else that the machine can run.
void add_planned(const Program& kernels, const Machine& machine, const SearchOptions& options,
                 const KeptProgram& kept, Seeds& seeds) {
  const bool limited = machine.has_streams || have_tiles(seeds.runs);
  const StopScope scope("the tiles were not planned",
                        limited ? SearchClock(options).seconds_left() : 0);
  try {
    PlannedSeeds planned = options.planned->make(kernels, kept);
    std::move(planned.runs.begin(), planned.runs.end(), std::back_inserter(seeds.runs));
    std::move(planned.wholes.begin(), planned.wholes.end(), std::back_inserter(seeds.wholes));
  } catch (const Stopped& stopped) {
    if (stopped.why() != Stopped::Why::seconds) return;
    seeds.notes.push_back(
        fmt::format("the time of --budget-seconds was up before the seeds of {} were planned",
                    options.planned->name));
  }
}

/// Those that there are when a signal ends their planning, which may take longer than all that
/// follows. `auto` is run at once: a program that is complete is known from then on.
Seeds seeds_until_interrupted(const Program& kernels, const Machine& machine,
                              const SearchOptions& options, const std::vector<Seed>& given,
                              Journal& journal) {
  Seeds seeds;
  const KeptProgram kept = [&](const auto& name, const Program& from, const auto& plan) {
    return journal.kept(name, from, plan);
  };
  try {
    const StopScope scope("the seeds were not planned");
    seeds = strategy_seeds(kernels);
    add_automatic(kernels, machine, options, kept, seeds);
    if (options.shards == 1 && options.merge.empty()) {
      run_seeds(seeds.wholes, machine, options, journal);
    }
    seeds.runs.insert(seeds.runs.end(), given.begin(), given.end());
  } catch (const Stopped&) {
    return seeds;
  }
  if (options.planned) add_planned(kernels, machine, options, kept, seeds);
  return seeds;
}

/// What of the space is not searched.
std::vector<std::string> notes_of(const SearchState& s) {
  const size_t kernels = s.table.kernels();
  const size_t longest = longest_run(kernels, s.options.space);
  if (longest >= std::min(kernels, s.options.space.max_kernels)) return {};
  return {
      fmt::format("runs of more than {} kernels are many in a program of {}, and only those of "
                  "seeds are tried (--seed, --max-placements)",
                  longest, kernels)};
}

/// All that is not simulated. An interrupt ends it between any two steps.
void add_and_estimate(SearchState& s, Candidates& candidates) {
  if (interrupted()) return;
  candidates.add_copies(kernels_alone(s.table.kernels()), 1);
  if (interrupted()) return;
  candidates.add_sets(runs_of_seeds(s.seeds), 1);
  if (interrupted()) return;
  estimate_fused(s);
  if (interrupted()) return;
  const std::vector<Interval> worth = worth_trying(s);
  candidates.add_sets(worth, kCandidatesShare);
  estimate_runs(s, worth);
  if (interrupted()) return;
  candidates.add_copies(worth_trying(s), kCandidatesShare);
}

void leave_open(TrialTable& table) {
  for (Trial& trial : table.trials()) {
    if (trial.open()) trial.status = PointStatus::unvisited;
  }
}

}  // namespace

SearchResult search_program(const Program& kernels, int64_t block, const Machine& machine,
                            const SearchOptions& options, const std::vector<Seed>& given,
                            Journal& journal, size_t& next_id) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(std::max(1, options.threads)));
  Seeds seeds = seeds_until_interrupted(kernels, machine, options, given, journal);
  StreamKernels streams = stream_kernels(kernels, machine, seeds.runs);
  SearchState state{kernels,
                    block,
                    machine,
                    options,
                    std::move(seeds.runs),
                    std::move(streams),
                    {kernels, machine, options.objective},
                    {kernels.regions.size(), machine, options.objective},
                    SearchClock(options),
                    journal};
  SearchResult result;
  Candidates candidates(state, next_id);
  result.notes = notes_of(state);
  result.notes.insert(result.notes.end(), seeds.notes.begin(), seeds.notes.end());
  result.wholes = std::move(seeds.wholes);
  state.evaluator.data = load_tensors(kernels);
  run_unfused(state);
  add_and_estimate(state, candidates);
  if (!interrupted()) {
    simulate_points(state);
    result.unfinished = unfinished_seeds(state);
  }
  if (interrupted()) leave_open(state.table);
  set_outcome(state, result);
  result.trials = std::move(state.table.trials());
  std::sort(result.trials.begin(), result.trials.end(),
            [](const Trial& a, const Trial& b) { return a.point.id < b.point.id; });
  next_id = candidates.end_id();
  return result;
}

}  // namespace fuseflow
