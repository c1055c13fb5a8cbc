// Integers of fixed width, which are numbers in f32 here: what wraps around, and what takes them
// as unsigned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/values/kernel.h"

namespace fuseflow {

/// What is known of an operation on scalars.
struct ScalarTypes {
  ElementType result = ElementType::f32;
  ElementType operand = ElementType::f32;  ///< of the first operand
  bool nonnegative = false;                ///< no operand is below 0
};

/// An operation of arith on integers of these types, or between them and numbers, where the types
/// make a difference; nothing for others.
std::optional<int32_t> integer_op(Kernel& k, const std::string& op, const std::vector<int32_t>& x,
                                  const ScalarTypes& types);

/// A whole number as an element of the type: of 1, 8 or 16 bits it wraps around. Wider types hold
/// more than f32 does, and stay.
int32_t wrapped_number(Kernel& k, int32_t x, ElementType type);

/// A number without its fraction.
int32_t towards_zero(Kernel& k, int32_t x);

/// Whether a < b as unsigned numbers.
int32_t unsigned_less(Kernel& k, int32_t a, int32_t b);

/// x where its sign makes it an unsigned extreme (below 0: the largest, max; else: the least, min)
/// whatever else there is; else the reduction's identity.
int32_t by_sign(Kernel& k, Reduction reduction, int32_t x);

}  // namespace fuseflow
