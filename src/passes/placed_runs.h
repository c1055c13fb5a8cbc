// Runs of kernels as one region each, with the placements that they get by default: what every
// search of regions starts from. Long runs are placed once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "lower/placements.h"
#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/runs_alone.h"
#include "search/interval.h"

namespace fuseflow {

/// PlacementOptions::max_recompute of parts: as many FLOPs as `--strategy=full` takes, or few.
inline constexpr double kMuchRecompute = 64;
inline constexpr double kLittleRecompute = kAutoRecompute;

/// Kernels [first, last] of a program (positions of its regions) that become one region.
struct Part {
  size_t first = 0;
  size_t last = 0;
  std::string name;                         ///< empty: that of the last kernel
  double max_recompute = kLittleRecompute;  ///< or kMuchRecompute; means nothing for one kernel
  bool tiles = false;                       ///< runs on cores, as planned: nothing is placed
  bool is_kernel() const { return first == last; }
  Interval kernels() const { return {first, last}; }
  bool operator==(const Part&) const = default;
};

/// A part by itself.
struct PlacedRun {
  RunAlone run;
  PassLog notes;       ///< of its placements
  PassLog in_turn;     ///< that its phases take turns
  bool turns = false;  ///< whether they do where it is not searched: else the machine has no room
};

class PlacedRuns {
 public:
  /// `kernels` must outlive this. What placing takes is spent in `costs`.
  PlacedRuns(const Program& kernels, const Machine& machine, CostModel& costs)
      : machine_(machine), costs_(costs), runs_(kernels) {}

  /// Throws what choose_placements() throws.
  std::shared_ptr<const PlacedRun> of(const Part& part);

  /// A part by itself with nothing placed.
  RunAlone unplaced(const Part& part) const { return runs_.make(part.first, part.last, part.name); }

  /// Gives a region of any program the placements that a part gets.
  void place(Program& program, size_t region, const Part& part, PassLog& log) const;

 private:
  PlacementOptions options() const;
  static void take(PlacementChoice choice, Program& program, size_t region, PassLog& log);
  std::shared_ptr<const PlacedRun> finished(PlacedRun placed) const;
  void place_long(const Part& part);

  using Key = std::tuple<size_t, size_t, std::string, double>;
  const Machine& machine_;
  CostModel& costs_;
  const RunsAlone runs_;
  std::map<Key, std::shared_ptr<const PlacedRun>> long_;
};

}  // namespace fuseflow
