// The one rule for zeros in storage (ir-spec/language.md, "Zeros"), for what is read and for what
// is computed.
#pragma once

#include <vector>

#include "tensor/format.h"

namespace fuseflow {

/// Where the format lets entries be absent, a value equal to the fill becomes the fill: -0, too, so
/// that it makes no difference whether it is left out or stays an entry.
void keep_one_zero(std::vector<float>& values, const Format& format, float fill);

}  // namespace fuseflow
