// When two expressions are the same: by a text that does not depend on the names of indices, nor on
// the order of the operands of a commutative operator. Equal texts are equal values, but for the
// payloads of NaN; of equal expressions some are not recognised (a + b + c, b + c + a).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/term.h"

namespace fuseflow {

struct Canonical {
  std::string text;
  std::vector<IndexId> free;  ///< free indices of the term in the order in which the text has them
};

/// The texts of a term and of its parts. Both have to outlive it.
class CanonicalTexts {
 public:
  /// `reads_stream(t)`: that the statement reads unrounded values of tensor t, which are not those
  /// that others read.
  CanonicalTexts(const Scope& scope, const Term& root,
                 std::function<bool(TensorId)> reads_stream = {});

  Canonical of(const Term& term) const;  ///< the root, or a part of it

 private:
  uint64_t find_shapes(const Term& term);

  const Scope& scope_;
  const std::function<bool(TensorId)> reads_stream_;
  /// A number for what each term is but for its indices: what the operands of commutative
  /// operators are ordered by.
  std::map<const Term*, uint64_t> shapes_;
};

}  // namespace fuseflow
