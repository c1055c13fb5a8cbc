// Which loops of a run of statements are the same, and which of them are its rows: the part of
// finding kernels of rows that reads loops. Throws NoKernel where the statements share no rows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace fuseflow::cluster {

enum class LoopRole : uint8_t { rows, batch, width };

/// A loop that statements share by reading each other's results.
struct SharedLoop {
  std::string name;
  int64_t extent = 1;
  LoopRole role = LoopRole::rows;
};

/// The two accesses of a sum of products, as positions in Statement::nodes: rows, and weights that
/// no statement of the run computes. A product has loops of its result in its weights alone; else
/// the sum is a reduction of rows.
struct RowsProduct {
  int32_t rows = -1, weights = -1;
};

class RowsLoops {
 public:
  RowsLoops(const Program& program, const std::vector<const Statement*>& statements);

  const std::vector<SharedLoop>& loops() const { return loops_; }
  /// The loop of a statement's index; -1: it has one step.
  int loop(const Statement& s, IndexId index) const;
  /// What a node of a statement multiplies; nothing where it is no product.
  const RowsProduct* product(const Statement& s, int32_t node) const;
  bool computed(TensorId tensor) const { return results_.count(tensor) != 0; }

 private:
  using Key = std::pair<TensorId, IndexId>;  ///< the result of a statement, its index

  void join_reads(const Statement& s);
  void join_constants(const Statement& s);
  bool may_join(const Key& a, const Key& b);
  void find_products(const Statement& s);
  void settle(const Statement& s);
  void name_loops();
  void check(const Statement& s) const;
  bool weighs(const Statement& s, const Expr& weights, const Expr& rows) const;
  int64_t extent_of(const Statement& s, IndexId index) const;
  Key root(Key key);
  void join(const Key& a, const Key& b);

  const Program& program_;
  std::map<TensorId, const Statement*> results_;
  std::map<Key, Key> parents_;
  std::map<Key, std::set<TensorId>> readers_;  ///< by root: results whose statements have the loop
  std::map<Key, int> number_;                  ///< of roots
  std::map<std::pair<TensorId, int32_t>, RowsProduct> products_;
  std::set<Key> widths_, batches_;  ///< roots
  std::vector<SharedLoop> loops_;
};

/// The loops whose steps an access goes along, by name.
std::set<IndexId> indices_of(const Expr& access);

}  // namespace fuseflow::cluster
