// Sums of products: the only part of the reference that must be fast.
#pragma once

#include <vector>

#include "reference/array.h"
#include "tensor/storage.h"

namespace fuseflow::reference {

/// A sparse operand of a product: plain subscripts, fill 0.
struct SparseFactor {
  const Storage* storage = nullptr;
  std::vector<IndexId> subscripts;  ///< per dimension
};

/// out[free] = scale * sum over `over` of the product of the factors, in f64.
Array contract(const Domain& domain, const std::vector<IndexId>& free,
               const std::vector<IndexId>& over, const std::vector<View>& factors, double scale,
               int threads);

/// The same where one factor is sparse and the others are finite: visits its entries only.
Array contract_sparse(const Domain& domain, const std::vector<IndexId>& free,
                      const std::vector<IndexId>& over, const SparseFactor& driver,
                      const std::vector<View>& factors, double scale);

}  // namespace fuseflow::reference
