// Each term moves one end.
#include "linalg/place_range.h"

namespace fuseflow {

std::optional<PlaceRange> places_of(const Subscript& subscript, const std::vector<int64_t>& loops) {
  PlaceRange range{subscript.offset, subscript.offset};
  for (const auto& [loop, c] : subscript.terms) {
    int64_t& end = c > 0 ? range.high : range.low;
    int64_t distance = 0;
    if (__builtin_mul_overflow(c, loops[static_cast<size_t>(loop)] - 1, &distance) ||
        __builtin_add_overflow(end, distance, &end))
      return std::nullopt;
  }
  return range;
}

}  // namespace fuseflow
