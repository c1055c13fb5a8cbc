#include "sim/threads/cross_thread_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sim/functional/run_length.h"

namespace fuseflow::engine {

namespace {

constexpr size_t kFewBytes = 512;  // are not worth going past the caches

/// memcpy past the caches.
void copy_past_caches(void* to, const void* from, size_t bytes) {
#ifdef __SSE2__
  if (bytes >= kFewBytes) {
    const size_t head = (0 - reinterpret_cast<uintptr_t>(to)) % sizeof(__m128i);
    std::memcpy(to, from, head);
    auto* out = reinterpret_cast<__m128i*>(static_cast<std::byte*>(to) + head);
    const auto* in = reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(from) + head);
    const size_t count = (bytes - head) / sizeof(__m128i);
    for (size_t k = 0; k < count; ++k) _mm_stream_si128(out + k, _mm_loadu_si128(in + k));
    _mm_sfence();
    std::memcpy(out + count, in + count, (bytes - head) % sizeof(__m128i));
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

std::shared_ptr<const Structure> copy_structure(const Structure& from) {
  const CrossThreadMemory carried;
  auto to = new_structure();
  to->count = from.count;
  to->stops = from.stops;
  return to;
}

std::shared_ptr<const Times> copy_times(const Times& from) {
  const CrossThreadMemory carried;
  auto to = make_pooled<Times>();
  to->pieces = from.pieces;
  to->count = from.count;
  to->gap = from.gap;
  if (!from.value) return to;
  uint32_t end = 0;  // behind the last explicit token
  for (size_t p = 0; p < from.pieces.size(); ++p) {
    if (from.pieces[p].step != kExplicit) continue;
    end = p + 1 < from.pieces.size() ? from.pieces[p + 1].first : from.count;
  }
  if (end == 0) return to;
  to->value = PoolArray<int64_t>(end);
  for (size_t p = 0; p < from.pieces.size(); ++p) {
    if (from.pieces[p].step != kExplicit) continue;
    const uint32_t first = from.pieces[p].first;
    const uint32_t last = p + 1 < from.pieces.size() ? from.pieces[p + 1].first : from.count;
    copy_past_caches(to->value.get() + first, from.value.get() + first,
                     (last - first) * sizeof(int64_t));
  }
  return to;
}

Payload copy_payload(const Payload& from, uint32_t count) {
  const CrossThreadMemory carried;
  const size_t bytes = (size_t{count} + kSlack) * sizeof(uint32_t);
  void* memory = take_from_pool(bytes);
  copy_past_caches(memory, from.data, count * sizeof(uint32_t));
  return {std::shared_ptr<const void>(memory, [bytes](void* words) { give_back(words, bytes); }),
          memory};
}

}  // namespace

template <typename T>
template <typename Make>
std::shared_ptr<const T> CrossThreadCopy::Recent<T>::find(const std::shared_ptr<const T>& from,
                                                          Make&& make) {
  for (const Entry& entry : entries) {
    if (entry.from == from) return entry.to;
  }
  Entry& entry = entries[next];
  next = (next + 1) % kRecent;
  entry = {from, make(*from)};
  return entry.to;
}

Segment CrossThreadCopy::copy(const Segment& segment, bool payload) {
  Segment to = segment;
  to.structure = structures_.find(segment.structure, copy_structure);
  to.arrivals.times = times_.find(segment.arrivals.times, copy_times);
  if (!payload || segment.payload.data == nullptr) return to;
  to.payload = {nullptr, nullptr, encode_runs(segment)};
  if (to.payload.run_length == nullptr) to.payload = copy_payload(segment.payload, segment.count);
  return to;
}

void CrossThreadCopy::clear() {
  *this = CrossThreadCopy();
}

}  // namespace fuseflow::engine
