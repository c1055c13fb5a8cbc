// The entries of an accumulator: running reductions by key, drained in ascending order of keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "ops/op.h"
#include "sim/functional/payload_loops.h"
#include "support/ceil_div.h"

namespace fuseflow::engine {

template <typename Entry>
std::vector<uint64_t> sorted_keys(const std::unordered_map<uint64_t, Entry>& table) {
  std::vector<uint64_t> keys;
  keys.reserve(table.size());
  for (const auto& entry : table) keys.push_back(entry.first);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Keys are 0 .. extent-1. Small extents are kept as an array with marks, so that adding is a
/// scatter; large ones in a hash table that is sorted when drained. Each entry combines its values
/// in the order in which they come.
class Entries {
 public:
  Entries(Reduction reduction, float start, uint64_t extent)
      : reduction_(reduction), start_(start), dense_(extent <= kMostDense) {
    if (!dense_) return;
    extent = ceil_div(extent, kBlock) * kBlock;
    values_.assign(extent, start);
    marks_.assign(extent + sizeof(uint64_t), 0);
    blocks_.assign(extent / kBlock, 0);
    if (reduction == Reduction::mean) counts_.assign(extent, 0);
  }

  void add(uint64_t key, float value) {
    if (!dense_) {
      const auto entry = table_.try_emplace(key, Entry{start_, 0}).first;
      entry->second.value = combine(reduction_, entry->second.value, value);
      ++entry->second.count;
      return;
    }
    values_[key] = combine(reduction_, values_[key], value);
    mark(key);
    if (!counts_.empty()) ++counts_[key];
  }

  /// Adds values of n keys, base + coordinates[k], of one fiber. `values` may be null (only the
  /// presence counts).
  void add_many(uint64_t base, const uint32_t* coordinates, const float* values, uint32_t n) {
    if (!adds(values)) {
      for (uint32_t k = 0; k < n; ++k) {
        add(base + coordinates[k], values == nullptr ? 0 : values[k]);
      }
      return;
    }
    if (n >= kFew && coordinates[n - 1] - coordinates[0] == n - 1 &&
        loops::is_run(coordinates, n)) {
      return sum_run(base + coordinates[0], values, n);
    }
    float* sums = values_.data() + base;
    uint8_t* marks = marks_.data() + base;
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t key = coordinates[k];
      sums[key] += values[k];
      marks[key] = 1;
      blocks_[(base + key) / kBlock] = 1;
    }
  }

  /// Adds n values at the keys `key`, `key` + `step`, ..; `step` is 0 or 1.
  void add_run(uint64_t key, uint32_t step, const float* values, uint32_t n) {
    if (step == 1 && adds(values)) return sum_run(key, values, n);
    for (uint32_t k = 0; k < n; ++k)
      add(key + uint64_t{step} * k, values == nullptr ? 0 : values[k]);
  }

  /// Calls visit(key, values, counts, n) for stretches of n keys that follow one another, in
  /// ascending order, then forgets all entries. `counts` is null unless the reduction is a mean.
  template <typename Visit>
  void drain(Visit&& visit) {
    dense_ ? drain_dense(visit) : drain_table(visit);
  }

 private:
  static constexpr uint64_t kBlock = 512;
  static constexpr uint64_t kMostDense = uint64_t{1} << 23;
  static constexpr uint32_t kFew = 8;
  static constexpr uint64_t kAllMarked = 0x0101010101010101;
  struct Entry {
    float value;
    int64_t count;
  };

  void mark(uint64_t key) {
    marks_[key] = 1;
    blocks_[key / kBlock] = 1;
  }

  /// Whether adding is a sum into the array.
  bool adds(const float* values) const {
    return dense_ && reduction_ == Reduction::sum && values != nullptr;
  }

  void sum_run(uint64_t key, const float* values, uint32_t n) {
    loops::add_to(values_.data() + key, values, n);
    std::memset(marks_.data() + key, 1, n);
    std::memset(blocks_.data() + key / kBlock, 1, (key + n - 1) / kBlock - key / kBlock + 1);
  }

  uint64_t eight_marks(uint64_t key) const {
    uint64_t eight;
    std::memcpy(&eight, marks_.data() + key, sizeof(eight));
    return eight;
  }

  template <typename Visit>
  void drain_dense(Visit& visit) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b] == 0) continue;
      blocks_[b] = 0;
      const uint64_t end = (b + 1) * kBlock;
      for (uint64_t key = b * kBlock; key < end;) {
        if (key + 8 <= end && eight_marks(key) == 0) {
          key += 8;
          continue;
        }
        if (marks_[key] == 0) {
          ++key;
          continue;
        }
        uint64_t last = key + 1;
        while (last + 8 <= end && eight_marks(last) == kAllMarked) last += 8;
        while (last < end && marks_[last] != 0) ++last;
        drain_run(key, static_cast<uint32_t>(last - key), visit);
        key = last;
      }
    }
  }

  template <typename Visit>
  void drain_run(uint64_t key, uint32_t n, Visit& visit) {
    visit(key, values_.data() + key, counts_.empty() ? nullptr : counts_.data() + key, n);
    std::memset(marks_.data() + key, 0, n);
    std::fill_n(values_.data() + key, n, start_);
    if (!counts_.empty()) std::fill_n(counts_.data() + key, n, int64_t{0});
  }

  template <typename Visit>
  void drain_table(Visit& visit) {
    for (const uint64_t key : sorted_keys(table_)) {
      const Entry& entry = table_.at(key);
      visit(key, &entry.value, reduction_ == Reduction::mean ? &entry.count : nullptr, 1U);
    }
    table_.clear();
  }

  Reduction reduction_;
  float start_;
  bool dense_;
  std::vector<float> values_;
  std::vector<uint8_t> marks_;
  std::vector<uint8_t> blocks_;  // whether a block of kBlock keys has a mark
  std::vector<int64_t> counts_;  // mean only
  std::unordered_map<uint64_t, Entry> table_;
};

}  // namespace fuseflow::engine
