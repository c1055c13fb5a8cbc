// When two expressions are the same: by a text that does not depend on the names of indices, nor on
// the order of the operands of a commutative operator. Equal texts are equal values, but for the
// payloads of NaN; of equal expressions some are not recognised (a + b + c, b + c + a).
#pragma once

#include <string>
#include <vector>

#include "ir/term.h"

namespace fuseflow {

struct Canonical {
  std::string text;
  std::vector<IndexId> free;  ///< free indices of the term in the order in which the text has them
};

Canonical canonical(const Scope& scope, const Term& term);

}  // namespace fuseflow
