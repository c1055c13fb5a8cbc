// Division by what mostly is a power of two, known at run time. Nothing else.
#pragma once

#include <bit>
#include <cstdint>

namespace fuseflow {

class Divisor {
 public:
  explicit Divisor(int64_t by)
      : by_(static_cast<uint64_t>(by)),
        shift_(std::has_single_bit(by_) ? std::countr_zero(by_) : -1) {}
  uint64_t quotient(uint64_t n) const { return shift_ >= 0 ? n >> shift_ : n / by_; }
  uint64_t remainder(uint64_t n) const { return shift_ >= 0 ? n & (by_ - 1) : n % by_; }

 private:
  uint64_t by_;
  int shift_;  // below 0: no power of two
};

}  // namespace fuseflow
