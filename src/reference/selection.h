// Which element a maximum or minimum is, where rounding cannot make it another one: there it is
// that element to the last bit, however both move, and comparing the two is decided.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reference/reference.h"

namespace fuseflow {

/// What a tensor selects whose statement is a maximum or minimum of elements of another.
struct SelectedElements {
  TensorId source = -1;
  std::vector<int> dimensions;  ///< of the source, one for each of the tensor's
  std::vector<uint8_t>
      certain;  ///< by element, row-major: it is one element of the source for sure
};

namespace reference {

/// What the statement selects; null: it selects nothing, or nothing moves. `source`, what it reads,
/// and `result` are dense.
std::shared_ptr<const SelectedElements> selection_of(const Statement& statement,
                                                     const std::vector<Value>& values,
                                                     const Value& result);

/// Where one of a statement's two accesses reads what the other one selects from, at the same
/// place: that selection, and which of the two it is. Null: none.
struct Selected {
  const SelectedElements* selection = nullptr;
  size_t operand = 0;
};
Selected selected_of(const Statement& statement, const std::vector<int32_t>& operands,
                     const std::vector<Value>& values);

}  // namespace reference
}  // namespace fuseflow
