#include "estimate/pass_costs.h"

#include <fmt/format.h>

#include "lower/lower.h"
#include "support/error.h"

namespace fuseflow {

/// Data that is not there is no error: passes work on programs alone.
bool EstimatedCosts::load(const Program& program) {
  if (loaded_) return usable_;
  loaded_ = true;
  try {
    data_ = load_patterns(program);
    usable_ = true;
  } catch (const Error& problem) {
    report(Severity::note,
           fmt::format("costs are guessed from extents and densities: {}", problem.what()));
  }
  data_.storage.resize(program.tensors.size());
  uncertain_.assign(program.tensors.size(), false);
  return usable_;
}

/// The patterns that the regions before give, with the schedules that they have now.
void EstimatedCosts::advance(const Program& program, size_t region) {
  for (; known_ < region; ++known_) {
    Region before = program.regions[known_];
    if (!before.graph) before.graph = lower_region(program, known_);
    estimate_region_into(program, before, data_, uncertain_, machine_);
  }
}

std::optional<double> EstimatedCosts::cycles(const Program& program, size_t region,
                                             const Graph& graph) {
  if (!load(program)) return std::nullopt;
  advance(program, region);
  Region lowered = program.regions[region];
  lowered.graph = graph;
  try {
    return estimate_region(program, lowered, data_, machine_, uncertain_).cycles;
  } catch (const Error&) {
    return std::nullopt;  // too large to be counted, or not followed
  }
}

}  // namespace fuseflow
