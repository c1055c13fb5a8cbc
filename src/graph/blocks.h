// Blocks as values: over which loops each value of a stream extends. Rules: ir-spec/blocks.md.
#pragma once

#include <span>
#include <vector>

#include "graph/spaces.h"

namespace fuseflow {

/// The loops that the values of a node's output extend over, given those of its inputs (in
/// Stream::block). For pad, which may have any: those declared.
class BlockRules {
 public:
  BlockRules(const Graph& graph, std::span<const GraphTensor> tensors);

  /// Of output `port` of the node; nodes must be asked for in order.
  std::vector<int> output(NodeId node, size_t port);
  /// Of a reference: the loops whose coordinates led to it, by storage level, -1 where unknown. Of
  /// a coordinate: its loop.
  const std::vector<int>& loops_of(StreamId ref) const { return loops_[ref]; }

 private:
  std::vector<int> of_array(const Node& node) const;
  std::vector<int> of_map(const Node& node) const;
  int source(const Node& node, size_t port) const;
  std::vector<int> coordinates(const Node& node, size_t port) const;

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  std::vector<std::vector<int>> loops_;  ///< by stream, of references
};

/// Product of the block extents.
int64_t block_volume(const Graph& graph, const std::vector<int>& block);

/// Reports streams whose declared block is not what the rules give, contractions that are none,
/// and writers whose values do not have the blocks of their tensor.
void check_blocks(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error);

}  // namespace fuseflow
