// The regions of a program in terms of the kernels that a search starts from: which of them are all
// of some kernels together, and which of these a program has planned for cores.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "search/planned_run.h"

namespace fuseflow {

/// Regions of a program that make up whole kernels together: one, or several parts of a kernel and
/// what stands in one region with one of them.
struct WholeKernels {
  std::vector<size_t> regions;  ///< ascending
  std::vector<size_t> kernels;  ///< ascending
  /// Whether the kernels follow each other: all that a search makes regions of.
  bool are_a_run() const {
    return !kernels.empty() && kernels.back() - kernels.front() + 1 == kernels.size();
  }
  Interval run() const { return {kernels.front(), kernels.back()}; }
};

/// In the order of their first regions. Throws Error(rejected) for a statement of `program` that
/// `kernels` has not.
std::vector<WholeKernels> wholes_of(const Program& kernels, const Program& program);

/// A run of kernels that a program has planned for cores.
struct PlannedPart {
  Interval kernels;
  std::shared_ptr<const PlannedRun> planned;
  /// Whether it runs the same kernels by the same graphs.
  bool same_as(const PlannedPart& other) const;
};

/// The regions of `program` that are planned for cores and are runs of whole kernels; what else it
/// has, and statements that `kernels` has not, are left out.
std::vector<PlannedPart> planned_parts(const Program& kernels, Program program);

/// A program of which the regions that can run on a machine's cores have graphs of tiles.
struct PlannedProgram {
  std::string name;
  Program program;  ///< declares inputs as its kernels read them
  /// The same with inputs as they arrive, where some of it is no run of kernels by itself: the plan
  /// has tensors of its own, a chain takes kernels that do not follow each other, or two regions
  /// need an intermediate dense between them that the kernels store otherwise.
  std::optional<Program> whole = std::nullopt;
};

/// Gives the ways to run a program's kernels on a machine's cores of which each may be the fastest.
using TilePlanner = std::function<std::vector<PlannedProgram>(const Program&, const Machine&)>;

}  // namespace fuseflow
