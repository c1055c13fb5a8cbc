// Sums of products: the only part of the reference that must be fast.
#pragma once

#include <vector>

#include "reference/table.h"

namespace fuseflow::reference {

/// out[free] = sum over `over` of the product of the factors.
struct Contraction {
  const Domain& domain;
  const Loops& free;
  const Loops& over;
  int threads = 0;
};

/// Computes the contraction in f64, visiting every point.
Table contract(const Contraction& of, const std::vector<View>& factors, Watch& watch);

/// Computes the contraction where one factor (`driver`) has the fill 0 and the others are finite:
/// visits the points at which it is present.
Table contract_present(const Contraction& of, const Table& driver, const std::vector<View>& factors,
                       Watch& watch);

}  // namespace fuseflow::reference
