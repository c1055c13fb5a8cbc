// The numbers of a Random, in order, made thousands at a time: several stretches of the sequence
// side by side, which is possible because any distance in it can be jumped. Where many are wanted.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tensor/random.h"

namespace fuseflow {

class RandomBlocks {
 public:
  /// Goes on where `random` is.
  explicit RandomBlocks(const Random& random);

  uint64_t next() {
    if (at_ == size_) refill();
    return numbers_[at_++];
  }
  /// Uniform in [0, bound), bound > 0, without bias.
  uint64_t below(uint64_t bound) { return random_below(*this, bound); }

  /// The numbers that come next, one or more of them; take() moves past them.
  std::span<const uint64_t> ahead() {
    if (at_ == size_) refill();
    return {numbers_.data() + at_, size_ - at_};
  }
  void take(size_t count) { at_ += count; }

  /// A generator whose next number is the one that next() would give.
  Random random() const;

 private:
  static constexpr size_t kLanes = 4;

  void refill();
  void make_few();
  void make_block();
  void jump_apart();

  std::vector<uint64_t> numbers_;
  size_t size_ = 0;
  size_t at_ = 0;
  size_t stretch_ = 1;                 // numbers made from each of the starts
  std::array<Random, kLanes> starts_;  // of the numbers at hand
  std::array<Random, kLanes> lanes_;   // where those that follow start
  bool apart_ = false;                 // the lanes are
};

}  // namespace fuseflow
