// What two ascending lists of coordinates have in common, found by galloping: from its head on, a
// list is searched for the head of the other one at distances 1, 2, 4, .. and then between the last
// two. (J. Bentley, A. Yao: An almost optimal algorithm for unbounded searching, 1976; E. Demaine,
// A. Lopez-Ortiz, J. I. Munro: Adaptive set intersections, unions, and differences, SODA 2000.)
// One call a step of the node `gallop` (ir-spec/nodes.md, "Galloping").
#pragma once

#include <array>
#include <cstdint>

namespace fuseflow {

class Gallop {
 public:
  Gallop() = default;
  Gallop(const uint32_t* first, uint32_t first_size, const uint32_t* second, uint32_t second_size)
      : list_{first, second},
        size_{first_size, second_size},
        over_(first_size == 0 || second_size == 0) {}

  /// There is no further step.
  bool over() const { return over_; }
  /// The positions of the coordinate that the last step has found.
  uint32_t found(int list) const { return found_[static_cast<size_t>(list)]; }
  /// Searches so far that passed more than one position, and how many these passed.
  uint64_t jumps() const { return jumps_; }
  uint64_t passed() const { return passed_; }

  /// The next step; calls read(list, position) for each coordinate that it reads, one or two.
  /// Whether it finds a coordinate of both lists.
  template <typename Read>
  bool step(Read&& read) {
    return jumping_ ? probe(read) : look_at_heads(read);
  }

 private:
  template <typename Read>
  bool look_at_heads(Read&& read) {
    read(0, head_[0]);
    read(1, head_[1]);
    const uint32_t first = list_[0][head_[0]];
    const uint32_t second = list_[1][head_[1]];
    if (first == second) return meet();
    jump(first < second ? 0 : 1, first < second ? second : first);
    return false;
  }

  template <typename Read>
  bool probe(Read&& read) {
    const uint32_t at = doubling_ ? head_[side_] + distance_ : low_ + (high_ - low_) / 2;
    read(static_cast<int>(side_), at);
    const uint32_t coordinate = list_[side_][at];
    if (coordinate >= wanted_) {
      high_ = at;
      doubling_ = false;
      if (coordinate == wanted_) {
        land(at);
        return meet();
      }
    } else {
      low_ = at;
      if (doubling_) double_distance();
    }
    if (!doubling_ && high_ - low_ == 1) end_jump();
    return false;
  }

  /// `side` has nothing from its head to before the first coordinate that is not less than
  /// `wanted`.
  void jump(size_t side, uint32_t wanted) {
    side_ = side;
    wanted_ = wanted;
    jumping_ = doubling_ = true;
    low_ = head_[side];
    high_ = size_[side];
    distance_ = 1;
    over_ = high_ - low_ == 1;
  }
  void double_distance() {
    const uint32_t left = size_[side_] - head_[side_];
    doubling_ = distance_ < left - distance_;
    if (doubling_) distance_ *= 2;
  }
  void land(uint32_t at) {
    const uint32_t passed = at - head_[side_];
    head_[side_] = at;
    if (passed < 2) return;
    ++jumps_;
    passed_ += passed;
  }
  /// The list has come to a coordinate that the other one has to be searched for, or to its end.
  void end_jump() {
    land(high_);
    over_ = high_ == size_[side_];
    if (!over_) jump(1 - side_, list_[side_][high_]);
  }
  bool meet() {
    for (size_t i = 0; i < 2; ++i) {
      found_[i] = head_[i]++;
      over_ = over_ || head_[i] == size_[i];
    }
    jumping_ = false;
    return true;
  }

  std::array<const uint32_t*, 2> list_{};
  std::array<uint32_t, 2> size_{};
  std::array<uint32_t, 2> head_{};  // the first position that may be found yet
  std::array<uint32_t, 2> found_{};
  bool over_ = true;
  bool jumping_ = false;  // else both heads are looked at next
  // of a jump: what is at low_ is less than wanted_, what is at high_ is not
  bool doubling_ = false;
  size_t side_ = 0;
  uint32_t wanted_ = 0;
  uint32_t low_ = 0;
  uint32_t high_ = 0;
  uint32_t distance_ = 1;
  uint64_t jumps_ = 0;
  uint64_t passed_ = 0;
};

}  // namespace fuseflow
