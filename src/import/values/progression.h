// Lists that are index maps: the parts of a Concat or the indices of a Gather that are affine in
// the digits of their place (`repeat_interleave` of heads: a digit that changes nothing).
#pragma once

#include <optional>
#include <vector>

#include "import/values/view.h"

namespace fuseflow {

/// A digit of the places in a list: how many values it has, and what each of the numbers in the
/// list grows by with it.
struct Digit {
  int64_t extent = 1;
  std::vector<int64_t> steps;
};

/// The fewest digits, outermost first, such that values[p] = values[0] + the sum over digits of
/// steps * digit of p. All values have the same length. Nothing if there are none, or no values.
std::optional<std::vector<Digit>> affine_digits(std::vector<std::vector<int64_t>> values);

/// The parts one after another along `dim` as one view, with an index for each digit of the part's
/// number: the inverse of cutting a value into equal slices, each of which may be repeated. Nothing
/// if parts differ by more than offsets of subscripts, or these are not affine.
std::optional<View> joined(std::vector<View> parts, int dim);

/// Elements start + the sum over digits of step * digit of dimension `dim`, which is a single atom
/// (or of extent 1). Every digit has one step.
View picked(View value, int dim, int64_t start, const std::vector<Digit>& digits);

}  // namespace fuseflow
