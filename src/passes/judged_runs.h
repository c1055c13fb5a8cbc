// Runs of kernels, each judged as one region by itself: the schedule and the expected cycles of the
// best that is known of it, and the partition of a program into such runs that takes least. Which
// runs are judged and searched, and in what order, is decided in mixture.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "machine/machine.h"
#include "passes/copies.h"
#include "passes/cost_model.h"
#include "passes/parts.h"
#include "passes/placed_runs.h"
#include "search/partition.h"
#include "search/stream_kernels.h"
#include "search/whole_kernels.h"

namespace fuseflow {

/// What regions may be beside streams with one copy of each loop.
struct MixtureSpace {
  std::vector<PlannedPart> planned;  ///< runs of kernels that may run on cores
  int64_t max_copies = 1;            ///< of a loop, where the machine has a number of units
};

/// Runs of streams with the copies of loops that a little effort finds.
struct CopiedRun {
  double cycles = kNoCost;
  FoundSchedule found;
};
using CopiedRuns = std::vector<CopiedRun>;

class JudgedRuns {
 public:
  /// All but the space must outlive this. `costs` has learned `kernels`.
  JudgedRuns(const Program& kernels, const MixtureSpace& space, const Machine& machine,
             CostModel& costs, PlacedRuns& placed);

  size_t statements() const { return statements_; }
  /// How many runs are judged as streams.
  size_t size() const { return judged_.size(); }
  bool may_copy() const { return max_copies_ > 1; }
  bool has_tiles() const { return !tiles_.empty(); }
  /// Whether the estimate of some run is in doubt: values decide what it takes.
  bool values_decide() const { return values_decide_; }

  /// Judging and searching stop once they have spent so much more than now.
  void allow(double effort) { most_effort_ = costs_.effort() + effort; }
  bool has_time() const { return costs_.effort() < most_effort_; }

  /// Judges a run as a region of streams, with as little and with as much recomputation as there
  /// may be.
  void add(const Part& part);

  /// The partition of least total among what was judged, but for one run that it must not have; of
  /// equal ones that of longer last runs. Each kernel by itself where there is none.
  Parts best(const Part* without = nullptr) const;
  /// The partition into so many runs of streams of least total; none where there is none.
  Parts best_into(size_t regions) const;
  /// Cycles of a partition into judged runs.
  double total_of(const Parts& parts) const;
  /// Its program, as far as the runs are searched; with what is second best of them.
  Candidate made_of(const Parts& parts, bool second = false) const;
  bool has_second(const Parts& parts) const;

  /// Searches placements, orders and copies for the runs of a partition that are not searched yet,
  /// the slowest first, each in an effort that goes with its share of the cycles; gives whether
  /// there was any. Where there is not time for all, each first gets the copies of a little effort.
  bool search(const Parts& parts);

  /// Runs of streams with copies, which gain most of what a search does; by default placements or,
  /// in more time, as judged. Nothing where their cycles are not known. `effort`: of all of them.
  std::optional<CopiedRuns> with_copies(const Parts& parts, bool as_judged, double effort);
  double total_of(const CopiedRuns& runs) const;
  /// Takes runs with copies as what is known of them, where they are faster.
  void take_copies(const Parts& parts, CopiedRuns runs);

  /// Does something as if nothing were planned for cores.
  template <typename Action>
  void without_tiles(const Action& action) {
    std::map<Interval, JudgedTiles> tiles;
    std::swap(tiles, tiles_);
    action();
    std::swap(tiles, tiles_);
  }
  /// Does something, and forgets what was found of runs meanwhile.
  template <typename Action>
  void as_a_trial(const Action& action) {
    std::map<Interval, JudgedPart> before = judged_;
    action();
    judged_ = std::move(before);
  }

 private:
  struct JudgedPart {
    Part part;
    double cycles = kNoCost;
    bool searched = false;
    bool keeps_inputs = false;  ///< what it reads again from outside is on chip while it runs
    FoundSchedule found;        ///< by default, or by the search
    std::optional<FoundSchedule> second;  ///< of the search, where an estimate may be off
  };

  /// A run as planned for cores.
  struct JudgedTiles {
    double cycles = kNoCost;
    std::shared_ptr<const PlannedRun> planned;
  };

  /// A run as planned for cores; of several plans the fastest counts.
  void add(const PlannedPart& part);
  IntervalCosts stream_costs() const;
  bool may_stream(const Part& part) const;
  bool is_fixed(size_t kernel) const;
  bool judge(JudgedPart& judged);
  void judge_from(const PlacedRun& placed, JudgedPart& judged);
  bool keep_inputs(RunAlone& run, PassLog& notes) const;
  double cycles_of(const RunAlone& run, const Part& part);
  void probe(const Parts& open);
  void search(JudgedPart& judged, double total);
  std::optional<CopiedRegion> improve(Program& program, size_t region, const PassLog& placed,
                                      CostModel& costs, PassLog& log, double effort) const;
  void give_schedule(Candidate& made, size_t r, const JudgedPart& judged, bool second) const;

  const Program& kernels_;
  PlacedRuns& placed_;
  const Machine& machine_;
  CostModel& costs_;
  const size_t n_;
  const StreamKernels streams_;
  const int64_t max_copies_;  ///< of a loop
  std::map<Interval, JudgedPart> judged_;
  std::map<Interval, JudgedTiles> tiles_;
  size_t statements_ = 0;
  double most_effort_ = 0;
  bool values_decide_ = false;
};

}  // namespace fuseflow
