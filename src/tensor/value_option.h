// The `values=` option of generators and sparse files: ones, constant(c), uniform(low,high),
// normal(mean,std) and int(low,high) (whole numbers, both ends included, for exact tests).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tensor/random.h"

namespace fuseflow {

class ValueOption {
 public:
  /// Throws Error(rejected) with the list of options.
  explicit ValueOption(std::string_view text);

  float draw(Random& random) const;
  /// `count` values from `seed`'s value stream.
  std::vector<float> draw_all(size_t count, uint64_t seed) const;

 private:
  void draw_uniform(const Random& random, std::span<float> values) const;

  enum class Kind { constant, uniform, normal, integer };
  Kind kind_ = Kind::constant;
  double a_ = 1;
  double b_ = 1;
};

}  // namespace fuseflow
