// Integers of few bits: what a type holds, and what an expression over them may give.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "import/values/view.h"

namespace fuseflow {

/// Whole numbers of so many bits.
struct Integers {
  int bits = 0;
  bool is_signed = false;

  bool hold(const Integers& other) const;
  int64_t largest() const {
    return static_cast<int64_t>((uint64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
  }
  int64_t least() const { return is_signed ? -largest() - 1 : 0; }
};

/// The integers of a type that holds whole numbers only; of `bool` one bit.
std::optional<Integers> integers_of(ElementType type);

/// The range of what an expression of whole numbers gives, by the types of the tensors that it
/// reads and what is known of their values; infinite ends are unknown.
Facts range_of_value(const View& value, const std::function<const Tensor&(TensorId)>& tensor_of);

}  // namespace fuseflow
