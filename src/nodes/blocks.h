// Over which loops the values of each stream extend, by the block rule of every node kind. Rules:
// ir-spec/blocks.md.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "graph/blocks.h"
#include "graph/spaces.h"

namespace fuseflow {

inline bool contains(const std::vector<int>& loops, int loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

/// The loops that the values of a node's output extend over, given those of its inputs (in
/// Stream::block).
class BlockRules {
 public:
  BlockRules(const Graph& graph, std::span<const GraphTensor> tensors);

  /// The loops of output `port` of the node; nodes must be asked for in order.
  std::vector<int> output(NodeId node, size_t port);

  const Graph& graph() const { return g_; }
  const Format& format(const Node& node) const { return tensors_[node.tensor].format; }
  const Stream& input(const Node& node, size_t i) const {
    return g_.streams[node.inputs[i].stream];
  }
  /// The loops whose coordinates led to a reference, by storage level, -1 where unknown; the loop
  /// of a coordinate.
  const std::vector<int>& loops_of(StreamId ref) const { return loops_[ref]; }

 private:
  std::vector<int> coordinates(const Node& node, size_t port) const;

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  std::vector<std::vector<int>> loops_;  ///< by stream, of references
};

/// What the block check of a node kind may ask and do.
class BlockCheck {
 public:
  BlockCheck(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error)
      : g_(graph), tensors_(tensors), error_(error) {}

  const Node& node() const { return g_.nodes[id]; }
  const Stream& stream(StreamId s) const { return g_.streams[s]; }
  void fail(const std::string& message) const;
  /// "[i,?]"
  std::string list(const std::vector<int>& indices) const;
  /// The values' blocks must be the tensor's: as many dimensions of the same extents.
  void expect_blocks_of_tensor(StreamId value) const;

  NodeId id = -1;

 private:
  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const GraphError& error_;
};

/// Reports streams whose declared block is not what the rules give, and what the kinds' own checks
/// find: contractions that are none, writers whose values do not have the blocks of their tensor.
void check_blocks(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error);

}  // namespace fuseflow
