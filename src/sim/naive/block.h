// Naive executor: blocks of values that a token carries, and what operators do inside them. Which
// loops a block extends over: ir-spec/blocks.md. Private to this folder.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "sim/naive/stream.h"

namespace fuseflow::naive {

/// The loops a block extends over, and how many elements along each.
struct BlockShape {
  std::vector<int> loops;
  std::vector<int64_t> extents;
  int64_t volume = 1;
  bool scalar() const { return loops.empty(); }
};
BlockShape block_shape(const Graph& graph, const std::vector<int>& loops);
BlockShape block_shape(const Graph& graph, StreamId stream);

/// The values of a payload: a block's, or its one number.
const float* block_values(const Token& token);
/// A payload that carries these values.
Token block_token(const BlockShape& shape, std::vector<float> values);
Token constant_token(const BlockShape& shape, float value);

/// Steps of `loops` through the elements of a block; 0 where it does not extend over the loop.
std::vector<int64_t> strides_over(const BlockShape& block, const std::vector<int>& loops);

/// An elementwise operator over blocks; a product may contract loops (it is summed over them, in
/// ascending order).
class BlockMap {
 public:
  BlockMap(const Graph& graph, const Node& node);
  bool scalar() const { return out_.scalar() && inner_.scalar(); }
  /// `operands`: by input; null for immediates.
  Token evaluate(const std::vector<const Token*>& operands) const;
  int64_t flops() const;

 private:
  const Node& node_;
  BlockShape out_;
  BlockShape inner_;                                 ///< the contracted loops
  std::vector<std::vector<int64_t>> out_strides_;    ///< by operand, then loop of out_
  std::vector<std::vector<int64_t>> inner_strides_;  ///< by operand, then loop of inner_
};

/// A reduction's way from the blocks it takes to those it gives, which lack the loop that ends.
class BlockReduce {
 public:
  BlockReduce(const Graph& graph, const Node& node);
  bool scalar() const { return in_.scalar(); }
  std::vector<float> start(float value) const {
    return std::vector<float>(static_cast<size_t>(out_.volume), value);
  }
  void add(std::vector<float>& sums, const Token& token) const;
  Token result(std::vector<float> sums) const { return block_token(out_, std::move(sums)); }
  int64_t volume() const { return in_.volume; }

 private:
  Reduction reduction_;
  BlockShape in_;
  BlockShape out_;
  std::vector<int64_t> strides_;  ///< through the result, by loop of in_
};

/// Calls visit(offset) for all positions of a block of these extents, row-major, where offset is
/// the sum of position * stride.
template <typename Visit>
void for_each_offset(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
                     Visit&& visit) {
  std::vector<int64_t> at(extents.size(), 0);
  int64_t offset = 0;
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    visit(offset);
    size_t d = extents.size();
    while (d-- > 0) {
      offset += strides[d];
      if (++at[d] < extents[d]) break;
      offset -= strides[d] * extents[d];
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace fuseflow::naive
