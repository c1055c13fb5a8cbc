// Formulas of presence: which coordinates a loop must visit, over those that take part in it
// (leaves). Equal formulas are one number, so that they are compared and passed on in no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace fuseflow {

class Formulas {
 public:
  using Id = int;
  enum class Kind : uint8_t { all, never, leaf, both, either };

  static constexpr Id kAll = 0;    ///< every coordinate
  static constexpr Id kNever = 1;  ///< none

  Formulas();

  Kind kind(Id formula) const { return nodes_[static_cast<size_t>(formula)].kind; }
  /// -1 of other kinds than leaf.
  int leaf_of(Id formula) const { return nodes_[static_cast<size_t>(formula)].leaf; }
  /// Of `both` and `either`: two or more, in the order in which they were given; else none.
  const std::vector<Id>& children(Id formula) const {
    return nodes_[static_cast<size_t>(formula)].children;
  }

  Id leaf(int number);
  /// Flattened and simplified. `both` of nothing is all, `either` of nothing is never.
  Id join(Kind kind, const std::vector<Id>& parts);
  /// Whether a leaf occurs in it.
  bool mentions(Id formula, int leaf) const;
  /// The formula as if the leaf had an entry everywhere.
  Id without(Id formula, int leaf);

 private:
  struct Node {
    Kind kind = Kind::all;
    int leaf = -1;
    std::vector<Id> children;
  };

  void absorb(std::vector<Id>& parts) const;

  std::vector<Node> nodes_;
  std::map<int, Id> leaves_;
  std::map<std::pair<Kind, std::vector<Id>>, Id> joined_;
};

}  // namespace fuseflow
