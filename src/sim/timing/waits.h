// Single steps that wait for something.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fuseflow::engine {

/// Lower bounds on the times of single steps, in order of steps; a step may have one for each port.
class Waits {
 public:
  struct Wait {
    uint32_t step;
    int64_t time;
  };
  void clear() { list_.clear(); }
  void put(uint32_t step, int64_t time) { list_.push_back({step, time}); }
  /// A bound that also holds for all later steps, so that it is at least the bound before it.
  void put_for_all_later(uint32_t step, int64_t time) {
    put(step, list_.empty() ? time : std::max(list_.back().time, time));
  }
  /// Sorts the bounds from `first` on, which are of another port, in among those before.
  void merge(size_t first) {
    if (first == 0 || first == list_.size()) return;
    std::inplace_merge(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(first),
                       list_.end(), [](const Wait& a, const Wait& b) { return a.step < b.step; });
  }
  bool any() const { return !list_.empty(); }
  size_t size() const { return list_.size(); }
  int64_t count() const { return static_cast<int64_t>(list_.size()); }
  const Wait& operator[](size_t k) const { return list_[k]; }
  const Wait& front() const { return list_.front(); }
  const Wait& back() const { return list_.back(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  /// Whether so many steps of n wait that a bound for every step costs less.
  static bool dense(int64_t count, int64_t n) { return count * kDense > n; }

 private:
  static constexpr int64_t kDense = 4;
  std::vector<Wait> list_;
};

}  // namespace fuseflow::engine
