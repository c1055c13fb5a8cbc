// Names and numbers of a statement's indices.
#pragma once

#include "import/values/view.h"

namespace fuseflow {

/// Renumbers the indices of a statement whose nodes are over the atoms of `view`: the atoms of the
/// view's dimensions (the result indices) first, then the others by first use.
void number_indices(Statement& s, const View& view);

}  // namespace fuseflow
