// A number for each of few of many nodes, in a table over all of them that is used again: looking
// one up is one access, and what a table takes does not grow with the nodes that it does not hold.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace fuseflow {

class NodeValues {
 public:
  /// Tables that nobody uses: -1 everywhere.
  using Pool = std::vector<std::vector<int>>;

  /// `nodes`: how many there are, the same for all of a pool, which must outlive this.
  NodeValues(Pool& pool, size_t nodes) : pool_(pool) {
    if (pool.empty()) {
      values_.assign(nodes, -1);
    } else {
      values_ = std::move(pool.back());
      pool.pop_back();
    }
  }
  ~NodeValues() {
    for (const int node : held_) values_[static_cast<size_t>(node)] = -1;
    pool_.push_back(std::move(values_));
  }
  NodeValues(const NodeValues&) = delete;
  NodeValues& operator=(const NodeValues&) = delete;

  /// -1: none.
  int at(int node) const { return values_[static_cast<size_t>(node)]; }
  void set(int node, int value) {
    values_[static_cast<size_t>(node)] = value;
    held_.push_back(node);
  }

 private:
  Pool& pool_;
  std::vector<int> values_;
  std::vector<int> held_;  ///< nodes that have a value
};

}  // namespace fuseflow
