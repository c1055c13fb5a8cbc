// A graph of tiles while it is made, of whatever form: dimensions that stand for loops of
// statements, loads, maps, stores. What its nodes are for is up to who makes it.
#pragma once

#include <string>
#include <vector>

#include "cluster/common/element_bytes.h"
#include "graph/graph.h"

namespace fuseflow::cluster {

/// Dimensions of a tile, ascending.
using TileDims = std::vector<int>;

class TileGraphBuilder {
 public:
  /// Loops that dimensions are made of; the subscripts of what is loaded and stored have their
  /// positions.
  explicit TileGraphBuilder(std::vector<TileDigit> loops)
      : loops_(std::move(loops)), number_(loops_.size(), -1) {
    graph_.tiles = TileMapping{};
  }

  /// Adds a dimension of these loops, the slowest first, in tiles of `block` elements, as many for
  /// each of `cluster` cores. One without loops has a single element.
  GraphIndex& dimension(const std::string& name, const std::vector<int>& loops, int64_t block,
                        int cluster = 1);

  /// One that takes these.
  static Node node(NodeKind kind, std::vector<Input> inputs);
  Input add(Node node, const TileDims& dims, std::string name);
  /// One more stream of the last node.
  Input add_output(const TileDims& dims, std::string name);
  Input load(TensorId tensor, const std::vector<TileSubscript>& at, const TileDims& dims,
             int64_t copies, std::string name = "x");
  Input map(Op op, std::vector<Input> inputs, const TileDims& dims, std::string name);
  void store(TensorId tensor, const std::vector<TileSubscript>& at, Input from);

  /// Its streams may have the same names until it is in a program.
  Graph take() { return std::move(graph_); }

 protected:
  std::vector<TileSubscript> numbered(std::vector<TileSubscript> subscripts) const;

  Graph graph_;

 private:
  const std::vector<TileDigit> loops_;
  std::vector<int> number_;  ///< of a loop: its digit in the graph
  int digits_ = 0;
};

/// Loops as the dimensions of a graph name them: those of any list of names and extents.
template <typename Loops>
std::vector<TileDigit> digits_of_loops(const Loops& loops) {
  std::vector<TileDigit> digits;
  for (const auto& loop : loops) digits.push_back({loop.name, loop.extent});
  return digits;
}

/// Positions of the loops for which `is` holds.
template <typename Loops, typename Is>
std::vector<int> loops_that(const Loops& loops, const Is& is) {
  std::vector<int> found;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (is(loops[i])) found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace fuseflow::cluster
