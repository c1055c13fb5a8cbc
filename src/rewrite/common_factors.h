// Factors that several products have in common, whatever the indices of their sums are named.
// Internal.
#pragma once

#include <map>
#include <vector>

#include "rewrite/addends.h"

namespace fuseflow {

/// An addend that has the common factors.
struct SharingAddend {
  size_t addend = 0;            ///< position in the addends
  std::vector<size_t> factors;  ///< of its factors, those that are common, in the order of the
                                ///< first sharer's
  /// The first sharer's indices instead of its own, of sums over indices of common factors.
  std::map<IndexId, IndexId> renamed;
};

/// Two or more addends, in their order. At least one of the factors has an index.
using CommonFactors = std::vector<SharingAddend>;

/// The largest sets of factors that two addends have in common, each with all addends that have
/// them. Of factors that are the same, operands are in the same order.
std::vector<CommonFactors> common_factors(const Scope& scope, const std::vector<Addend>& addends);

}  // namespace fuseflow
