// Random graphs whose degrees follow a power law, with an exact number of distinct edges.
#pragma once

#include <cstdint>
#include <functional>

#include "tensor/random.h"

namespace fuseflow {

/// Calls add(i, j) for `edges` distinct edges of a rows x columns matrix, rows ascending, columns
/// ascending within a row. Row i has about edges * w_i entries, and a column is drawn with
/// probability w_j, where the weights, in a random order of the vertices (the same for rows and
/// columns of a square matrix), are proportional to rank^(-1 / (alpha - 1)): the expected degrees
/// of a power law with exponent alpha (Chung and Lu, 2002). A row that would exceed `columns`
/// entries gives the excess to the next ones by rank.
void power_law_edges(Random& random, int64_t rows, int64_t columns, uint64_t edges, double alpha,
                     const std::function<void(int64_t, int64_t)>& add);

}  // namespace fuseflow
