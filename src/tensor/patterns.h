// Sparse patterns: where the entries of a generated tensor are. Values are drawn elsewhere.
#pragma once

#include <string_view>

#include "tensor/params.h"
#include "tensor/storage.h"

namespace fuseflow {

/// The coordinates of pattern `name` (a sparse generator of generate.h), sorted in row-major order,
/// without values. `uniform` takes any rank from 1; the others need rank 2 or more, and leading
/// dimensions hold matrices drawn one after the other. Throws Error(rejected) for bad parameters.
Coo generate_pattern(std::string_view name, const Params& params, const std::vector<int64_t>& shape,
                     uint64_t seed);

/// The `values=` of a pattern when none is given: ones for masks, uniform(-1,1) for the others.
std::string_view default_values(std::string_view name);

}  // namespace fuseflow
