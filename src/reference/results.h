// What a statement defines, put together from the tables of its blocks.
#pragma once

#include <vector>

#include "reference/reference.h"
#include "reference/table.h"

namespace fuseflow::reference {

class Results {
 public:
  Results(const Statement& statement, std::vector<int64_t> shape, Watch& watch);

  /// The value of a table over all of the domain; `loops` are those that it depends on. Throws
  /// ArrayTooLarge.
  Value whole(const Table& table, const Loops& loops, const Domain& domain);

  /// Adds a block; false if the result is too large to spell out and the block is not sparse, or
  /// has another fill than the others.
  bool add(const Table& table, const Loops& loops, const Domain& domain);
  /// What was added.
  Value value();

 private:
  void add_dense(const Table& table, const Loops& loops, const Domain& domain);
  void add_entries(const Table& table, const Domain& domain);
  Value dense_value();
  Value sparse_value();

  const Loops& order_;  // of the result's dimensions
  Loops loops_;         // of the result's dimensions, ascending
  std::vector<int64_t> shape_;
  Watch& watch_;
  std::vector<int64_t> strides_;  // of the result, by loop
  std::shared_ptr<std::vector<float>> dense_, dense_bounds_;
  std::vector<std::vector<uint32_t>> coords_;  // entries
  std::vector<float> entries_, entry_bounds_;
  bool inexact_ = false;
  bool fixed_ = true;  // of all that was added
  std::optional<float> fill_;
  float fill_bound_ = 0;
};

}  // namespace fuseflow::reference
