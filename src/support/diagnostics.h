// Lists of diagnostics, as they are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// Of one list of diagnostics no more errors than these are shown.
inline constexpr size_t kMaxErrors = 50;

/// All of them, up to kMaxErrors; a last note says how many are left out.
std::string format(const std::vector<Diagnostic>& diagnostics);

}  // namespace fuseflow
