// The default placements of a region: every use streams or is recomputed as the order lets it,
// until that is impossible or too expensive; then intermediates are stored, in the scratchpad if
// they fit, else in memory. Conflicts of orders are resolved by storing, or by a permuted copy of
// an input.
#pragma once

#include <string>
#include <vector>

#include "lower/lower.h"

namespace fuseflow {

/// PlacementOptions::max_recompute of what tools choose by themselves.
inline constexpr double kAutoRecompute = 1.5;

/// What lowering a graph without buffers takes, of lowering it with them and judging it.
inline constexpr double kFlowEffort = 0.5;

struct PlacementOptions {
  double max_recompute = 64;      ///< FLOPs of the region over the unfused ones
  bool recompute_always = false;  ///< store only what cannot be lowered otherwise
  int64_t scratchpad_bytes = 0;   ///< capacity; 0: unbounded
  LowerOptions lower;
};

struct PlacementChoice {
  Program program;                 ///< with the region's schedule complete (and copies, if any)
  std::vector<std::string> notes;  ///< what was decided and why, one line each
  double flops = 0;                ///< estimated, as chosen
  double unfused_flops = 0;        ///< estimated, every intermediate through memory
  double lowered = 0;              ///< nodes of the graphs that were lowered to choose
};

/// Placements that the schedule gives already are kept. Throws Error(rejected), with the region's
/// place, if they cannot be met.
PlacementChoice choose_placements(Program program, size_t region,
                                  const PlacementOptions& options = {});

/// The same for several bounds on recomputation (max_recompute), the largest first, in hardly more
/// time than for the least: what is stored for one is stored for all that follow.
std::vector<PlacementChoice> choose_placements_for(Program program, size_t region,
                                                   const PlacementOptions& options,
                                                   const std::vector<double>& bounds);

/// Bytes of a tensor as stored, estimated.
double estimated_bytes(const Tensor& tensor);

}  // namespace fuseflow
