// Cutting dimensions: a dimension of 768 that one statement writes and another reads as 12 heads of
// 64 becomes two dimensions everywhere, so that every access is by plain indices. See
// ir-spec/import.md, "Dimensions are cut until accesses are plain".
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

void split_dimensions(DraftProgram& draft);

/// An intermediate that is only read at constants along a dimension (the three parts of a joint QKV
/// projection) becomes one intermediate for each constant.
void split_read_at_constants(DraftProgram& draft);

/// Inputs lose their dimensions of extent 1: an index that takes one value needs no loop.
void drop_unit_dimensions(DraftProgram& draft);

}  // namespace fuseflow
