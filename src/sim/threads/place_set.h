// A set of small numbers, the places of nodes: the next one in it is found in a few steps, however
// many there are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuseflow::engine {

/// A bit for each place; above these one for each word of 64 that has any, and so on to one word.
class PlaceSet {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  /// Of places below `places`.
  explicit PlaceSet(size_t places) {
    ++places;  // last_before() begins at the end
    do {
      places = (places + 63) / 64;
      levels_.emplace_back(places, 0);
    } while (places > 1);
  }

  void put(size_t place, bool in) {
    for (std::vector<uint64_t>& words : levels_) {
      uint64_t& word = words[place / 64];
      const bool was = word != 0;
      const uint64_t bit = uint64_t{1} << place % 64;
      word = in ? word | bit : word & ~bit;
      if (was == (word != 0)) return;
      place /= 64;
    }
  }

  /// The first that is not before `begin`.
  size_t first_from(size_t begin) const {
    for (size_t level = 0; level < levels_.size(); ++level) {
      const size_t word = begin / 64;
      if (word >= levels_[level].size()) return kNone;
      const uint64_t bits = levels_[level][word] & (~uint64_t{0} << begin % 64);
      if (bits != 0) return first_below(level, word * 64 + lowest(bits));
      begin = word + 1;
    }
    return kNone;
  }

  /// The last that is before `end`, a place or the number of places.
  size_t last_before(size_t end) const {
    for (size_t level = 0; level < levels_.size(); ++level) {
      const size_t word = end / 64;
      const uint64_t before = (uint64_t{1} << end % 64) - 1;
      const uint64_t bits = levels_[level][word] & before;
      if (bits != 0) return last_below(level, word * 64 + highest(bits));
      end = word;
    }
    return kNone;
  }

 private:
  static size_t lowest(uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); }
  static size_t highest(uint64_t bits) { return 63 - static_cast<size_t>(std::countl_zero(bits)); }

  size_t first_below(size_t level, size_t at) const {
    while (level-- > 0) at = at * 64 + lowest(levels_[level][at]);
    return at;
  }
  size_t last_below(size_t level, size_t at) const {
    while (level-- > 0) at = at * 64 + highest(levels_[level][at]);
    return at;
  }

  std::vector<std::vector<uint64_t>> levels_;  // places first
};

}  // namespace fuseflow::engine
