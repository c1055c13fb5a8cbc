#include "lower/affine.h"

namespace fuseflow {

void Affine::add(const Affine& other, int64_t factor) {
  offset += factor * other.offset;
  for (const auto& [index, value] : other.terms) {
    const auto place =
        std::lower_bound(terms.begin(), terms.end(), index,
                         [](const auto& term, int wanted) { return term.first < wanted; });
    if (place != terms.end() && place->first == index) {
      place->second += factor * value;
      if (place->second == 0) terms.erase(place);
    } else if (factor * value != 0) {
      terms.insert(place, {index, factor * value});
    }
  }
}

Affine substitute(const Subscript& subscript, const std::vector<Affine>& map) {
  Affine result;
  result.offset = subscript.offset;
  for (const auto& [index, factor] : subscript.terms) result.add(map[index], factor);
  return result;
}

std::pair<int64_t, int64_t> range_of(const Affine& affine, const std::vector<int64_t>& extents) {
  int64_t low = affine.offset;
  int64_t high = affine.offset;
  for (const auto& [index, factor] : affine.terms) {
    const int64_t last = std::max<int64_t>(extents[index] - 1, 0);
    (factor < 0 ? low : high) += factor * last;
  }
  return {low, high};
}

}  // namespace fuseflow
