// Each region by itself: what it computed is compared with the reference fed with what the regions
// before it were simulated to give. Only the region's own rounding counts there, so that a
// comparison that the rounding of one region leaves undecided hides nothing of those after it.
#pragma once

#include <vector>

#include "ir/stored.h"
#include "sim/report/check.h"

namespace fuseflow {

/// Whether a region reads what others compute.
bool reads_of_others(const Program& program, size_t region, const std::vector<Stored>& stored);

/// Whether the region's arithmetic is that of its statements, but for the order of sums: not of a
/// kernel of tiles, which may rescale what it adds up.
bool rounds_apart(const Program& program, size_t region);

/// `checked` holds what the whole program's reference said. A tensor that is wrong by its region's
/// is wrong; one of which elements were not compared is what its region's says, if that says more.
/// Regions of which the reference would see the same operands are not evaluated a second time.
void compare_regions(const Program& program, const TensorData& data, const CheckSettings& settings,
                     std::vector<CheckedTensor>& checked);

}  // namespace fuseflow
