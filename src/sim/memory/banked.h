// Banked, multi-channel DRAM: rows, bank groups, turn-around, refresh.
#pragma once

#include <memory>

#include "sim/memory/dram.h"

namespace fuseflow {

std::unique_ptr<Memory> make_banked_memory(const Machine& machine);

}  // namespace fuseflow
