// Which places of a dimension a subscript takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

struct PlaceRange {
  int64_t low = 0;
  int64_t high = 0;  ///< included
};

/// Over loops of these extents, by number; nothing where the places exceed 64 bits.
std::optional<PlaceRange> places_of(const Subscript& subscript, const std::vector<int64_t>& loops);

}  // namespace fuseflow
