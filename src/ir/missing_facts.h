// Where the absence of a fact makes a statement visit what it could leave out, found by the
// presence calculus itself: a statement is analysed as it is and as if everything were known of its
// operands; of what makes the difference, the least that suffices is what is missing.
#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// With these facts (no fewer) of `tensor`, entries that are absent would not be visited.
struct MissingFact {
  TensorId tensor = -1;
  Facts facts;
  /// The facts exclude its fill: none of its entries may be absent, whatever its format allows.
  bool complete = false;
};

struct LostSparsity {
  size_t region = 0;
  size_t statement = 0;               ///< of the region
  std::vector<MissingFact> missing;   ///< all of them are needed
  std::vector<TensorId> visited_too;  ///< whose absent entries are visited for want of them
  /// A sum inside of the statement (a node) of which no fact can be stated, and which would have to
  /// be nonzero.
  std::optional<int32_t> reduction = std::nullopt;
  /// Nothing is missing, but the result is declared with another fill than this, which it has where
  /// these have no entry.
  std::optional<float> fill = std::nullopt;
};

/// The statements of the program that lack a fact, in order. Intermediates count as sparse where
/// they could be, whatever their format says: fused, they are streamed.
std::vector<LostSparsity> lost_sparsity(const Program& program);

}  // namespace fuseflow
