// Which keys a query of an online softmax can see, where the mask is given data: the band of k - m
// outside of which every score is -inf.
#pragma once

#include <array>
#include <optional>

#include "cluster/online_form.h"

namespace fuseflow::cluster {

/// The least and the largest k - m of scores that are not surely -inf. Nothing where that leaves
/// none out, where it is not known, or where what is left out could matter (values that may be
/// infinite or NaN: 0 times these is not 0).
std::optional<std::array<int64_t, 2>> open_band(const Program& program, const OnlineForm& form);

}  // namespace fuseflow::cluster
