// The Pareto front of a search: programs put together of simulated points, of which none is as good
// in cycles and in energy as another and better in one. Knows nothing of how points are found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explore/objective.h"
#include "explore/trial.h"

namespace fuseflow {

/// A program on the front.
struct ParetoProgram {
  struct Part {
    size_t first = 0, last = 0;  ///< kernels of the region
    size_t point = 0;            ///< its number
  };
  Amounts amounts;          ///< of the whole program, with the pauses
  std::vector<Part> parts;  ///< its regions, in the order in which they run
};

/// All programs on the front of the simulated trials of `kernels` kernels, the fastest first; of
/// several with equal cycles and energy one. More than `kMostOnFront` in a prefix are thinned out,
/// the fastest and the frugalest being kept.
std::vector<ParetoProgram> pareto_front(const std::vector<Trial>& trials, size_t kernels,
                                        const Amounts& pause);
inline constexpr size_t kMostOnFront = 4096;

/// The front of two.
std::vector<ParetoProgram> merged(std::vector<ParetoProgram> a,
                                  const std::vector<ParetoProgram>& b);

/// The program of least energy-delay product; null: the front is empty.
const ParetoProgram* least_edp(const std::vector<ParetoProgram>& front);

/// One row a program (ir-spec/csv.md "The Pareto list").
std::string pareto_csv(const Program& kernels, const Machine& machine,
                       const std::vector<ParetoProgram>& front);

}  // namespace fuseflow
