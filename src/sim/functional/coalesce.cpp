#include "sim/functional/coalesce.h"

#include <algorithm>
#include <cstring>

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

std::shared_ptr<const Times> join_times(std::span<const Segment> parts, int64_t delta) {
  TimesBuilder joined(gap_of(parts));
  for (const Segment& part : parts) append_times(joined, part.arrivals.later(-delta), part.count);
  return joined.finish();
}

Payload join_payloads(std::span<Segment> parts, uint32_t count) {
  const bool none = std::all_of(parts.begin(), parts.end(), [](const Segment& part) {
    return part.payload.data == nullptr && part.payload.run_length == nullptr;
  });
  if (none) return {};
  const auto words = allocate_payload(count);
  uint32_t* out = words.get();
  for (Segment& part : parts) {
    if (part.payload.run_length != nullptr) {
      write_words(all_of(part), out);
    } else {
      std::memcpy(out, part.payload.data, part.count * sizeof(uint32_t));
    }
    out += part.count;
  }
  return {words, words.get()};
}

}  // namespace

Segment Coalescer::join(std::span<Segment> parts) {
  uint32_t count = 0;
  for (const Segment& part : parts) count += part.count;
  return {structure(parts, count), 0, count, 0, join_payloads(parts, count), times(parts, count)};
}

StructureRef Coalescer::structure(std::span<const Segment> parts, uint32_t count) {
  const Segment& first = parts.front();
  const Segment& last = parts.back();
  for (const JoinedStructure& made : structures_) {
    if (made.first == first.structure && made.last == last.structure && made.begin == first.begin &&
        made.count == count) {
      return made.joined;
    }
  }
  JoinedStructure& made = structures_[next_structure_];
  next_structure_ = (next_structure_ + 1) % kRecent;
  made = {first.structure, last.structure, first.begin, count, join_structures(parts)};
  return made.joined;
}

TimeRef Coalescer::times(std::span<const Segment> parts, uint32_t count) {
  const int64_t delta = parts.front().arrivals.delta;
  const auto same = [&](const TimeRef& made, const TimeRef& ref, int64_t made_delta) {
    return made.times == ref.times && made.offset == ref.offset &&
           made.delta - made_delta == ref.delta - delta;
  };
  for (const JoinedTimes& made : times_) {
    if (made.count != count || made.parts.size() != parts.size()) continue;
    bool all = true;
    for (size_t p = 0; all && p < parts.size(); ++p) {
      all = same(made.parts[p], parts[p].arrivals, made.delta);
    }
    if (all) return {made.joined, 0, delta};
  }
  JoinedTimes& made = times_[next_times_];
  next_times_ = (next_times_ + 1) % kRecent;
  made.parts.clear();
  for (const Segment& part : parts) made.parts.push_back(part.arrivals);
  made.delta = delta;
  made.count = count;
  made.joined = join_times(parts, delta);
  return {made.joined, 0, delta};
}

}  // namespace fuseflow::engine
