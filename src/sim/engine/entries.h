// The entries of an accumulator: running reductions by key, drained in ascending order of keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace fuseflow::engine {

/// Keys are 0 .. extent-1. Small extents are kept as an array with marks, so that adding is a
/// scatter; large ones in a hash table that is sorted when drained. Each entry combines its values in
/// the order in which they come.
class Entries {
 public:
  Entries(Reduction reduction, float start, uint64_t extent)
      : reduction_(reduction), start_(start), dense_(extent <= kMostDense) {
    if (!dense_) return;
    extent = (extent + kBlock - 1) / kBlock * kBlock;
    values_.assign(extent, start);
    marks_.assign(extent, 0);
    blocks_.assign(extent / kBlock, 0);
    if (reduction == Reduction::mean) counts_.assign(extent, 0);
  }

  bool dense() const { return dense_; }

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

  /// Adds n values; keys fit 32 bits. `values` may be null (only the presence counts).
  void add_many(const uint32_t* keys, const float* values, uint32_t n) {
    if (!dense_ || reduction_ != Reduction::sum || values == nullptr) {
      for (uint32_t k = 0; k < n; ++k) add(keys[k], values == nullptr ? 0 : values[k]);
      return;
    }
    float* sums = values_.data();
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t key = keys[k];
      sums[key] += values[k];
      marks_[key] = 1;
      blocks_[key / kBlock] = 1;
    }
  }

  /// Calls visit(key, value, count) in ascending order of keys, then forgets all entries.
  template <typename Visit>
  void drain(Visit&& visit) {
    dense_ ? drain_dense(visit) : drain_table(visit);
  }

 private:
  static constexpr uint64_t kBlock = 512;
  static constexpr uint64_t kMostDense = uint64_t{1} << 23;
  struct Entry {
    float value;
    int64_t count;
  };

  void mark(uint64_t key) {
    marks_[key] = 1;
    blocks_[key / kBlock] = 1;
  }

  template <typename Visit>
  void drain_dense(Visit& visit) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b] == 0) continue;
      blocks_[b] = 0;
      for (uint64_t key = b * kBlock; key < (b + 1) * kBlock; ++key) {
        if (marks_[key] == 0) continue;
        visit(key, values_[key], counts_.empty() ? int64_t{1} : counts_[key]);
        marks_[key] = 0;
        values_[key] = start_;
        if (!counts_.empty()) counts_[key] = 0;
      }
    }
  }

  template <typename Visit>
  void drain_table(Visit& visit) {
    std::vector<uint64_t> keys;
    keys.reserve(table_.size());
    for (const auto& entry : table_) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    for (const uint64_t key : keys) {
      const Entry& entry = table_.at(key);
      visit(key, entry.value, entry.count);
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
