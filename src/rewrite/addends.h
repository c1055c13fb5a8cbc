// Sums of products, taken apart: `t + 2 * u`, where t is `sum(k) a[i, k] * x[k, f]`, adds the
// product of a and x and that of 2 and u. Internal.
#pragma once

#include <set>
#include <vector>

#include "rewrite/product.h"

namespace fuseflow {

/// An expression down to the factors of the products that it adds.
struct AdditionPart {
  enum class Kind : uint8_t {
    factor,   ///< what is not taken apart
    add,      ///< parts that are added, subtracted or negated
    product,  ///< parts that are multiplied; the second one is a factor where they are divided
    sum,      ///< a part that is summed
    taken_in  ///< the access of an intermediate, and its statement's expression as the only part
  } kind = Kind::factor;
  Term given;  ///< the whole part as it is written
  std::vector<AdditionPart> parts;
};

/// Whether `part` subtracts its p-th part.
bool is_subtracted(const AdditionPart& part, size_t p);

/// A factor of an addend, at its place.
struct AddendFactor {
  const AdditionPart* part = nullptr;
  Factor factor;
};

/// One of the products that a sum of products adds.
struct Addend {
  const AdditionPart* part = nullptr;
  bool negative = false;
  std::vector<AddendFactor> factors;
  std::set<IndexId> summed;
};

bool is_addition(const Term& term);  ///< it adds, subtracts or negates

/// Takes an addition apart, intermediates that are read once taken in: those that add, and in each
/// addend those that multiply or sum, as long as it has at most kMostFactors factors with indices,
/// the nearest to the statement first. `reader`: the result of that statement. Their indices are
/// added to the scope.
AdditionPart taken_apart(const Program& program, const Definitions& definitions, TensorId reader,
                         const Term& addition, Scope& scope);

/// The addends of a part, in the order of the text; they point into it. Without those that are no
/// product of at most kMostFactors factors with indices.
std::vector<Addend> addends_of(const AdditionPart& addition);

}  // namespace fuseflow
