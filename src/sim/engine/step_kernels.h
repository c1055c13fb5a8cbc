// Inner loops over steps and their times, with AVX2 versions chosen at run time. Results do not
// depend on the version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuseflow::engine::kernels {

/// Yes or no, by type of step.
class TypeSet {
 public:
  static constexpr size_t kFew = 16;

  void set(size_t type, bool in) {
    if (type >= in_.size()) in_.resize(type + 1);
    in_[type] = in ? 1 : 0;
  }
  bool few() const { return in_.size() == kFew; }  ///< all types that were set are below kFew
  const uint8_t* data() const { return in_.data(); }
  uint8_t operator[](uint8_t type) const { return in_[type]; }

 private:
  std::vector<uint8_t> in_ = std::vector<uint8_t>(kFew);
};

constexpr int64_t kPlacesSlack = 8;  ///< so many places more may be overwritten
/// Lists the k < n whose types are in the set, in order; how many. All types must have been set.
int64_t places_of(const TypeSet& set, const uint8_t* types, int64_t n, uint16_t* places);

/// The `count`-th of the k < n whose types are in the set, count >= 1; n if there are fewer. Takes
/// from `count` those that are before it.
int64_t find_place(const TypeSet& set, const uint8_t* types, int64_t n, int64_t& count);

/// to[k] = from[k] + plus.
void set(int64_t* to, const int64_t* from, int64_t plus, int64_t n);
/// to[k] = start + step * k.
void set_line(int64_t* to, int64_t start, int64_t step, int64_t n);
/// to[k] = max(to[k], start + step * k).
void raise_line(int64_t* to, int64_t start, int64_t step, int64_t n);
/// to[k] = max(to[k], from[k] + plus).
void raise(int64_t* to, const int64_t* from, int64_t plus, int64_t n);

/// times[k] = max(bounds[k], times[k-1] + cost); the first is `free_at` at least.
void solve(const int64_t* bounds, int64_t n, int64_t free_at, int64_t cost, int64_t* times);

/// Whether a[k] < b[k] for all k < n.
bool all_before(const int64_t* a, const int64_t* b, int64_t n);

}  // namespace fuseflow::engine::kernels
