// Makes one segment of several short ones.
#include <algorithm>
#include <cstring>

#include "sim/functional/port.h"
#include "sim/functional/run_length.h"

namespace fuseflow::engine {

namespace {

StructureRef join_structures(std::span<const Segment> parts) {
  auto joined = new_structure();
  for (const Segment& part : parts) {
    for (Stop stop : all_of(part).stops) {
      stop.at = stop.at - part.begin + joined->count;
      joined->stops.push_back(stop);
    }
    joined->count += part.count;
  }
  return joined;
}

/// How far apart the tokens of all parts are at least.
int64_t gap_of(std::span<const Segment> parts) {
  int64_t gap = INT64_MAX;
  for (size_t p = 0; p < parts.size(); ++p) {
    gap = std::min(gap, parts[p].arrivals.times->gap);
    if (p == 0) continue;
    const Segment& before = parts[p - 1];
    gap = std::min(gap, parts[p].arrivals.at(0) - before.arrivals.at(before.count - 1));
  }
  return gap;
}

TimeRef join_times(std::span<const Segment> parts) {
  TimesBuilder joined(gap_of(parts));
  for (const Segment& part : parts) append_times(joined, part.arrivals, part.count);
  return {joined.finish(), 0, 0};
}

Payload join_payloads(std::span<const Segment> parts, uint32_t count) {
  const bool none = std::all_of(parts.begin(), parts.end(), [](const Segment& part) {
    return part.payload.data == nullptr && part.payload.run_length == nullptr;
  });
  if (none) return {};
  const auto words = allocate_payload(count);
  uint32_t* out = words.get();
  for (const Segment& part : parts) {
    if (part.payload.run_length != nullptr) {
      expand_into(all_of(part), out);
    } else {
      std::memcpy(out, part.payload.data, part.count * sizeof(uint32_t));
    }
    out += part.count;
  }
  return {words, words.get()};
}

}  // namespace

Segment coalesce(std::span<const Segment> parts) {
  const StructureRef structure = join_structures(parts);
  const uint32_t count = structure->count;
  return {structure, 0, count, 0, join_payloads(parts, count), join_times(parts)};
}

}  // namespace fuseflow::engine
