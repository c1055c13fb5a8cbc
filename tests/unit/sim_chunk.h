// A chunk of tokens for tests of what is done to chunks.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "sim/functional/port.h"

namespace fuseflow::engine {

/// Fibers of such lengths, a stop behind each; their words by fiber and place.
struct Chunk {
  Segment segment;
  std::vector<uint32_t> words;

  Chunk(const std::vector<uint32_t>& lengths,
        const std::function<uint32_t(uint32_t, uint32_t)>& word) {
    auto structure = new_structure();
    for (uint32_t f = 0; f < lengths.size(); ++f) {
      for (uint32_t k = 0; k < lengths[f]; ++k) words.push_back(word(f, k));
      structure->stops.push_back({static_cast<uint32_t>(words.size()), 0, 1});
      words.push_back(0);
    }
    structure->count = static_cast<uint32_t>(words.size());
    const auto payload = allocate_payload(words.size());
    std::copy(words.begin(), words.end(), payload.get());
    TimesBuilder times;
    for (uint32_t k = 0; k < words.size(); ++k) times.append(1, k < 40 ? 3 * k : k * k, 0);
    segment = {structure, 0, structure->count, 0, {payload, payload.get()}, {times.finish(), 0, 5}};
  }

  /// Tokens first .. first+count-1 alone, as a consumer may have been given them.
  Segment part(uint32_t first, uint32_t count) const {
    uint32_t stop = 0;
    while (stop < segment.structure->stops.size() && segment.structure->stops[stop].at < first) {
      ++stop;
    }
    return part_of(segment, first, stop, count);
  }
};

}  // namespace fuseflow::engine
