// What the verifiers of all forms of graphs of tiles share: how they report, and the checks that
// are the same for chains, kernels of tiles and kernels of rows. Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// Called with the node (-1: the graph as a whole) and what is wrong with it.
using TileError = std::function<void(NodeId, std::string)>;

class TileVerifier {
 public:
  TileVerifier(const Graph& graph, const TileError& error) : g_(graph), error_(error) {}

 protected:
  using Dims = std::vector<int>;

  static constexpr int64_t kMostElements = int64_t{1} << 30;      ///< of a dimension
  static constexpr int64_t kMostTileElements = int64_t{1} << 24;  ///< of one tile
  static constexpr const char* kPlainDigits = "expected plain digits as subscripts, each once";

  void fail(NodeId n, std::string message);

  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  const GraphIndex& index(int dim) const { return g_.indices[static_cast<size_t>(dim)]; }
  const Stream& stream(const Input& input) const {
    return g_.streams[static_cast<size_t>(input.stream)];
  }
  const Dims& dims_of(StreamId s) const { return g_.streams[static_cast<size_t>(s)].block; }
  const Node& producer(const Input& input) const { return node(stream(input).producer); }

  /// A product in no branch, which holds no partial results.
  static bool plain(const Node& product) {
    return product.tile.branch < 0 && product.tile.held == std::array<int64_t, 4>{};
  }
  static bool power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }
  static bool holds(const Dims& dims, int dim);

  void expect_name(const GraphIndex& index, std::string_view name);
  /// Whether the size of an index is the product of its digits, and at most kMostElements.
  static bool digits_fit(const GraphIndex& index);
  void check_cores(int cores);
  /// Whether a stream is of values whose tiles extend over at most so many dimensions, each once
  /// and none of them `batch`, and have at most kMostTileElements.
  bool of_tiles(const Stream& stream, size_t most_dims, int batch) const;

  void expect_inputs(NodeId n, size_t count);
  void expect_outputs(NodeId n, size_t count);
  void expect_ports(NodeId n, size_t inputs, size_t outputs) {
    expect_inputs(n, inputs);
    expect_outputs(n, outputs);
  }
  /// A load with a buffer of some tiles.
  void check_load(NodeId n, int64_t most_copies);
  /// Checks that the result of a map extends over what its operands extend over.
  void check_covers(NodeId n);
  /// A store that several clusters do not add to.
  void check_stores_once(NodeId n);
  /// How many inputs of a node are among these streams.
  int64_t taken_of(NodeId n, const std::vector<StreamId>& streams) const;
  /// A store whose subscripts are the digits of `dims`, each once: it writes each element once.
  void check_elements_once(NodeId n, const Dims& dims);
  /// Subscripts over digits of `dims`.
  void check_subscripts(NodeId n, const Dims& dims);

  const Graph& g_;
  const TileError& error_;
  bool sound_ = true;
};

}  // namespace fuseflow
