// What an operation of linalg adds up: a body that combines the result so far with something new.
#pragma once

#include <optional>
#include <vector>

#include "linalg/function.h"

namespace fuseflow {

/// result = combine(result so far, each of `terms`). A negated term is subtracted. With a guard
/// only where that node is not 0 (`unless`: is 0); else the result stays.
struct Accumulation {
  Reduction reduction = Reduction::sum;
  bool of_unsigned = false;  ///< max, min: of integers as unsigned numbers
  bool skips_nan = false;    ///< max, min: terms that are NaN change nothing
  struct Part {
    int32_t node = -1;
    bool negated = false;
  };
  std::vector<Part> terms;
  int32_t guard = -1;
  bool unless = false;
};

/// How `root` combines operand `out` with what does not depend on it; nothing if it does otherwise.
std::optional<Accumulation> accumulation(const LinalgOp& op, int32_t root, int32_t out);

/// Whether node `root` needs operand `out`.
bool depends_on(const LinalgOp& op, int32_t root, int32_t out);

/// Where the second result of an argmax is chosen: `select(cmp(new, best so far), new place, place
/// so far)`.
struct ArgumentChoice {
  size_t best = 0;     ///< the result that is the maximum or minimum
  int32_t place = -1;  ///< the node of the new place
  bool last = false;   ///< of equal ones the last is taken
};
std::optional<ArgumentChoice> argument_choice(const LinalgOp& op, size_t result);

}  // namespace fuseflow
