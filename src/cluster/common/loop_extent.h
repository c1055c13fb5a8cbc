// The extent of a loop of a statement, for those who look for forms in the statements of a program.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/program.h"

namespace fuseflow::cluster {

/// Steps of a loop: as stated, or those of a tensor that the statement writes or reads at it. -1
/// where that tensor's extent is symbolic; nothing where no tensor has the loop by itself.
std::optional<int64_t> loop_extent(const Program& program, const Statement& statement,
                                   IndexId index);

}  // namespace fuseflow::cluster
