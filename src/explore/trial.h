// One point made into a graph, estimated and simulated. Knows nothing of what else is searched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "explore/memo.h"
#include "explore/objective.h"
#include "explore/point_result.h"
#include "explore/points.h"

namespace fuseflow {

/// A copy of an input that the machine makes.
struct InputCopy {
  TensorId original = -1;  ///< of the kernels
  Format format;
  PointResult takes;  ///< with the pause after it
  bool same_as(const InputCopy& other) const {
    return original == other.original && format == other.format;
  }
};

/// A point and what is known of it.
struct Trial {
  Point point;
  std::string region;
  PointStatus status = PointStatus::open;
  uint64_t graph = 0;   ///< fingerprint of what it is lowered to; 0: not yet
  double estimate = 0;  ///< the objective's cost
  double bound = 0;
  Amounts expected, least;        ///< what is estimated, and the lower bounds
  std::vector<InputCopy> copies;  ///< that its regions read; all amounts contain what they take
  PointResult result;
  std::string note;
  bool best = false;
  int64_t block = 1;  ///< side of the blocks of its program
  bool open() const { return status == PointStatus::open; }
  bool simulated() const { return status == PointStatus::simulated; }
  /// Not left out: what it takes is known, or estimated.
  bool possible() const { return open() || simulated(); }
  /// Which of its bounds what a run to its end gave is below; empty: none.
  std::string why_impossible(const PointResult& simulated) const;
  /// What is kept of its estimate; nothing where it reads copies, whose costs belong to it, too.
  std::optional<EstimatedPoint> estimated() const;
  /// Takes over an estimate that was made before, of this search or an earlier one.
  void take_estimate(const EstimatedPoint& known, Objective objective);
  /// Status and note are those of the result.
  void take_status() {
    status = result.status;
    if (status == PointStatus::failed) note = result.note;
  }
};

/// What a simulated graph of a program takes.
PointResult counted(const Program& program, const Graph& graph, const Machine& machine,
                    const RunResult& run);

class Evaluator {
 public:
  Evaluator(const Program& kernels, const Machine& machine, Objective objective)
      : machine_(machine), objective_(objective), runs_(kernels) {}

  const KernelRuns& runs() const { return runs_; }
  const Machine& machine() const { return machine_; }
  /// What every region reads: inputs, and the intermediates that are known so far.
  TensorData data;

  struct Lowered {
    Program program;  ///< the point's kernels alone
    size_t region = 0;
    std::vector<TensorId> tensors;  ///< of the whole program, by tensor; the first ones have such
    TensorData data;
    size_t regions = 1;  ///< that the point is, from `region` on: more than one only if planned
    const Region& at(size_t part = 0) const { return program.regions[region + part]; }
    /// A hash of its graphs; never 0.
    uint64_t fingerprint() const;
    /// "h", or "s; m" for several.
    std::string name() const;
  };
  /// Throws Error(rejected) where the point cannot be, also because it does not fit the machine.
  Lowered lower(const Point& point) const;

  /// Fills estimate, bound and region of the trial, or refuses it. What is returned is of the first
  /// region: all of a point of streams.
  RegionEstimate estimate(Trial& trial, const Lowered& lowered) const;

  /// Runs the point (`unvisited` if a signal ends it: support/interrupt.h); it has to take fewer
  /// cycles than `goal` (0: no goal). Throws Error(internal) if it takes fewer cycles, less energy
  /// or fewer bytes of memory than its bounds.
  /// `results`: what it writes, if it is simulated.
  PointResult simulate(const Trial& trial, int64_t goal, TensorData* results = nullptr,
                       int threads = 1) const;

 private:
  /// The copies that the point reads, each once. Where another region of a program reads the same
  /// copy, the program pays once: it takes less than its regions do alone (explore/programs.h).
  std::vector<InputCopy> copies(const Lowered& lowered) const;

  /// One region of the point, `taken` cycles after the first of them began; its results become
  /// data of the next ones.
  PointResult simulate(Lowered& lowered, size_t part, int64_t goal, int64_t taken,
                       int threads) const;

  const Machine& machine_;
  const Objective objective_;
  const KernelRuns runs_;
};

}  // namespace fuseflow
