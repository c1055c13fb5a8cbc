#include "explore/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "explore/goals.h"
#include "explore/promise.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parallel_for.h"

namespace fuseflow {

namespace {

constexpr size_t kWave = 8;  ///< points between two decisions about what has to be beaten

class Simulation {
 public:
  explicit Simulation(SearchState& state) : s_(state) {}

  /// To their ends, and by every shard, also when the time is over.
  void run_first(const std::vector<size_t>& points) {
    std::atomic<size_t> done = 0;
    parallel_for(size_t{0}, points.size(), [&](size_t i) {
      if (!recall(s_.table[points[i]], 0)) run_or_leave(s_.table[points[i]], 0, true);
      s_.pace.show(++done, points.size(), "simulating first points");
    });
  }

  /// Those of list[begin ...] that can still be better than what is known.
  void run_wave(const std::vector<size_t>& list, size_t begin) {
    const Goals goals(s_.table);
    if (std::isfinite(goals.incumbent())) {
      s_.pace.set_best(amount_text(s_.options.objective, s_.machine, goals.incumbent()));
    }
    std::vector<QueuedTrial> wave;
    for (size_t i = begin; i < std::min(begin + kWave, list.size()); ++i) {
      Trial& trial = s_.table[list[i]];
      const Goal goal = s_.options.exhaustive ? Goal{} : goals.of(trial);
      if (trial.bound >= goal.cost) {
        trial.status = PointStatus::pruned;
        trial.note = goal.why;
      } else {
        wave.push_back({&trial, cycles_to_beat(goal, s_.options.objective)});
      }
    }
    parallel_for(size_t{0}, wave.size(), [&](size_t i) {
      const auto [trial, goal] = wave[i];
      if (recall(*trial, goal)) return;
      if (is_elsewhere(*trial)) {
        trial->status = PointStatus::elsewhere;
      } else {
        run_or_leave(*trial, goal, !s_.pace.out_of_time() || !trial->point.seed.empty());
      }
    });
  }

 private:
  struct QueuedTrial {
    Trial* trial;
    int64_t goal;
  };

  /// Whether the trial's result is known from before.
  bool recall(Trial& trial, int64_t goal) const {
    const std::optional<PointResult> known = s_.journal.known(trial.point.key, goal);
    if (!known) return false;
    trial.result = *known;
    trial.take_status();
    return true;
  }

  bool is_elsewhere(const Trial& trial) const {
    return s_.options.merge.empty() && trial.point.key % s_.options.shards != s_.options.shard;
  }

  void run_or_leave(Trial& trial, int64_t goal, bool has_time) {
    if (!s_.options.merge.empty() || interrupted() || !has_time) {
      trial.status = PointStatus::unvisited;
      return;
    }
    trial.result = s_.evaluator.simulate(trial, goal);
    trial.take_status();
    if (trial.status != PointStatus::unvisited) s_.journal.append(trial.point.key, trial.result);
  }

  SearchState& s_;
};

/// Refuses results from before that simulating their points cannot give.
void check_found(const SearchState& s) {
  for (const Trial& trial : s.table.trials()) {
    const auto found = s.journal.found().find(trial.point.key);
    if (found == s.journal.found().end()) continue;
    if (found->second.status != PointStatus::simulated) continue;
    const std::string why = trial.why_impossible(found->second);
    if (why.empty()) continue;
    throw Error(
        ExitCode::rejected,
        fmt::format("{}: a result that no simulation gives: {}; expected the file as the "
                    "search wrote it (without that line, a journal has it found again)",
                    s.options.merge.empty() ? "--resume " + s.options.journal : "--merge", why));
  }
}

}  // namespace

void simulate_points(SearchState& s) {
  check_found(s);
  Simulation simulation(s);
  simulation.run_first(first_points(s.table, s.kernels, s.machine, s.seeds));
  const std::vector<size_t> list = by_promise(s.table);
  for (size_t begin = 0; begin < list.size() && !interrupted(); begin += kWave) {
    s.pace.show(begin, list.size(), "simulating");
    simulation.run_wave(list, begin);
  }
}

}  // namespace fuseflow
