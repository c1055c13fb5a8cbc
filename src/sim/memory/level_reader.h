// Which addresses of a level a node reads. Calls fetch(array, address, bytes) -> bursts requested
// for each piece and returns the sum. See ir-spec/memory.md.
#pragma once

#include <cstdint>

#include "sim/memory/addresses.h"
#include "tensor/storage.h"

namespace fuseflow::engine {

class LevelReader {
 public:
  LevelReader(const Addresses& addresses, TensorId tensor, int level, const Level& stored)
      : level_(stored),
        positions_(addresses.level(tensor, level, Addresses::positions)),
        coordinates_(addresses.level(tensor, level, Addresses::coordinates)) {}

  /// What must be known of a reference before its fiber is: its positions, a scanned bitvector's
  /// words.
  template <typename Fetch>
  uint32_t enter(uint32_t reference, bool scan, Fetch&& fetch) const {
    switch (level_.kind) {
      case LevelKind::compressed:
        return fetch(Addresses::positions, positions_ + 4 * uint64_t{reference}, 8);
      case LevelKind::bitvector: {
        const uint32_t first = fetch(Addresses::positions, positions_ + 4 * uint64_t{reference}, 4);
        if (!scan) return first;
        const auto bytes = static_cast<uint64_t>(8 * level_.words_per_fiber());
        return first + fetch(Addresses::coordinates, coordinates_ + bytes * reference, bytes);
      }
      case LevelKind::singleton:
      case LevelKind::dense:
        break;
    }
    return 0;
  }

  /// The address of the coordinate at a position, 4 bytes; compressed and singleton levels only.
  uint64_t address_of(int64_t position) const {
    return coordinates_ + 4 * static_cast<uint64_t>(position);
  }
  /// The coordinate at a position.
  template <typename Fetch>
  uint32_t element(int64_t position, Fetch&& fetch) const {
    const bool stored = level_.kind == LevelKind::compressed || level_.kind == LevelKind::singleton;
    return stored ? fetch(Addresses::coordinates, address_of(position), 4) : 0;
  }

  /// The probes of a binary search, all requested together, or the word of a bitvector.
  template <typename Fetch>
  uint32_t look_up(uint32_t reference, int64_t coordinate, Fetch&& fetch) const {
    if (level_.kind == LevelKind::singleton) return element(reference, fetch);
    if (level_.kind == LevelKind::bitvector) {
      const auto words = static_cast<uint64_t>(level_.words_per_fiber());
      const uint64_t word = words * reference + static_cast<uint64_t>(coordinate / kLevelWordBits);
      return fetch(Addresses::coordinates, coordinates_ + 8 * word, 8);
    }
    uint32_t count = 0;
    uint32_t low = level_.pos[reference];
    uint32_t high = level_.pos[reference + 1];
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      count += element(middle, fetch);
      if (level_.crd[middle] == coordinate) break;
      if (level_.crd[middle] < coordinate) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return count;
  }

 private:
  const Level& level_;
  uint64_t positions_;
  uint64_t coordinates_;
};

}  // namespace fuseflow::engine
