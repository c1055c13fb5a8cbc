// What a choice may ask: the expected cycles of a program, or of one of its regions, on a machine.
// Passes know no simulator and no estimate; a tool that has one hands a maker in
// (PassArguments::costs).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lower/known_phases.h"
#include "machine/machine.h"

namespace fuseflow {

/// What a program or a region takes, the least first.
struct Cost {
  double cycles = 0;  ///< infinite where the machine has no room for it, or it cannot be lowered
  double dram_bytes = 0;  ///< read and written
  std::string doubt;      ///< why the counts are not exact; empty if they are
  double flops = 0;
  double tokens = 0;
  bool guessed = false;  ///< rests on a guess of how many values are zero
  /// Of one region: the result of the statement whose node takes longest; -1: not known.
  TensorId limit = -1;
  /// What the machine lacks for it, in shares of what the machine has: more than 0 where it has no
  /// room.
  double beyond = 0;
};

class CostModel {
 public:
  CostModel() = default;
  virtual ~CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  /// Takes the program that is to be improved: what its regions write is what of_region() lets a
  /// region read. Gives its cost, or nothing if it is not known.
  virtual std::optional<Cost> learn(const Program& given) = 0;

  /// The cost of some regions (ascending) of a program that has the tensors of the one learned, and
  /// maybe more. What they write is what those after them read. Regions without a graph are
  /// lowered as whatever runs them would.
  virtual std::optional<Cost> of_regions(const Program& program,
                                         const std::vector<size_t>& regions) = 0;
  std::optional<Cost> of_region(const Program& program, size_t region) {
    return of_regions(program, {region});
  }

  /// The cost of regions by statistics of the data instead of the data: fast at any size, and off
  /// by more. Nothing where the data is not known.
  virtual std::optional<Cost> guess_of_regions(const Program& program,
                                               const std::vector<size_t>& regions) = 0;

  /// The cost of a whole program, with the pauses between regions. It need not be the program that
  /// the model has learned.
  virtual std::optional<Cost> of_program(const Program& program) = 0;

  /// Why the cost of a program is not known; empty where there is nothing to say of it.
  virtual std::string why_unknown() const { return ""; }

  /// Cycles of the whole program as simulated, infinite where it does not end. Nothing where that
  /// would take long, or is not known.
  virtual std::optional<double> simulated(const Program& /*program*/) { return std::nullopt; }

  /// Cycles between two regions.
  virtual double pause() const = 0;

  /// The share of cycles that estimates may be off on this machine: 0, or a smaller gain is none.
  virtual double margin() const = 0;

  /// Effort so far, in nodes lowered, entries read and rows counted: counts, not time, so that a
  /// search that ends when it has had enough gives the same everywhere.
  virtual double effort() const = 0;

  /// Adds what a search has spent beside the model, in the same units.
  virtual void spend(double effort) = 0;

  /// of_regions() in a slice (ir/slice_regions.h) of such a program, which may have got more
  /// tensors after those of the slice: in time that does not grow with the program.
  virtual std::optional<Cost> of_slice(const Program& slice, const std::vector<TensorId>& tensors,
                                       const std::vector<size_t>& regions) = 0;

  /// Phases that were lowered to be judged: for who lowers what this model is asked for, too.
  virtual KnownPhases& phases() { return phases_; }

 private:
  KnownPhases phases_;
};

using CostModelMaker = std::function<std::unique_ptr<CostModel>(const Machine&)>;

}  // namespace fuseflow
