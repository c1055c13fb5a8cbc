// Who knows the extents of data: the one rule for all sources.
#pragma once

#include "tensor/source.h"

namespace fuseflow {

/// Whether the source says its extents. A generator, values(..) and a .tns file do not: the largest
/// coordinates of a .tns are lower bounds, since its last rows may be empty. They take the extents
/// that the tensor, the model or --dim has (read_raw()'s `shape`), and are refused where they do
/// not fit.
bool says_extents(const Source& source);

}  // namespace fuseflow
