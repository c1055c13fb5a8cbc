// How often the statements of a region are computed where intermediates are recomputed at every
// use, and what is expected of storing one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// By the tensor that a statement gives: copies in another order add statements on the way, so
/// positions do not stay the same.
using FlopsByResult = std::map<TensorId, double>;

/// 0 where nothing is known.
double flops_of(const FlopsByResult& flops, TensorId result);

/// Where a result is stored, its statement is computed once, and those that it reads still so many
/// times more often than it. (That is an expectation: other orders may be found then.)
class RecomputedWork {
 public:
  /// `fused`: the FLOPs of each statement as the region is lowered, infinite or no number where
  /// they are more than a double holds; `unfused`: those of it computed once.
  RecomputedWork(const std::vector<Statement>& statements, const FlopsByResult& fused,
                 const FlopsByResult& unfused);

  double flops() const;
  /// How many times more often the statement is computed than any that reads it.
  double jump(size_t statement) const { return jumps_[statement]; }
  /// The first one with the largest jump that is not settled; nothing if none is worth storing.
  std::optional<size_t> worst() const;
  /// The statement's result is stored, or may not be.
  void settle(size_t statement, bool stored);

 private:
  double jump_of(size_t statement) const;
  double times_of_readers(size_t statement) const;

  std::vector<std::vector<size_t>> readers_;  ///< of each statement's result, all after it
  std::vector<double> times_, once_;          ///< how often; FLOPs of one time
  std::vector<double> jumps_;
  std::vector<bool> open_;  ///< not settled
};

}  // namespace fuseflow
