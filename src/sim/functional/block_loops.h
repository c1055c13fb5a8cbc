// What operators do inside of blocks: elementwise, product, reduction, padding. Plans are made once
// a node, then run a block at a time. Sums are in the order that ir-spec/blocks.md states. No
// tokens, no times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace fuseflow::engine {

/// The loops a block extends over, and how many elements along each.
struct BlockExtents {
  std::vector<int> loops;
  std::vector<int64_t> extents;
  int64_t volume = 1;
  BlockExtents() = default;
  BlockExtents(const Graph& graph, const std::vector<int>& over);
};

/// The rows (along the last loop) of a block, seen through an operand that may lack loops.
struct BlockRows {
  std::vector<int64_t> offsets;  ///< of each row in the operand
  int64_t step = 0;              ///< from element to element; 0: the operand lacks the last loop
  bool whole = false;            ///< the operand has the very same elements in the same order
  BlockRows(const BlockExtents& rows, const BlockExtents& operand);
};

/// A map over blocks; a product may contract loops.
class BlockOperator {
 public:
  BlockOperator(const Graph& graph, const Node& node);
  int64_t volume() const { return out_.volume; }
  int64_t volume(size_t operand) const { return shapes_[operand].volume; }
  bool blocked(size_t operand) const { return !shapes_[operand].loops.empty(); }
  int64_t flops() const;
  /// `operands` by input (immediates too).
  void run(std::span<const float* const> operands, float* out);

 private:
  void elementwise(std::span<const float* const> operands, float* out);
  void product(std::span<const float* const> operands, float* out);
  void product_rows(const float* x, const float* y, size_t shared, size_t first, size_t last,
                    float* out);
  void product_any(const float* a, const float* b, float* out) const;

  Op op_;
  BlockExtents out_;
  BlockExtents inner_;                        ///< contracted
  std::vector<BlockExtents> shapes_;          ///< by operand
  std::vector<BlockRows> rows_;               ///< by operand
  std::vector<std::vector<int64_t>> inners_;  ///< by operand: offset of each contracted element
  bool simple_ = false;                       ///< elementwise: all operands are whole or numbers
  std::vector<float> gathered_;
  std::vector<float> packed_;
};

/// The way of a reduction from the blocks it takes to those it gives.
class BlockFold {
 public:
  BlockFold(const Graph& graph, const Node& node);
  bool blocked() const { return !in_.loops.empty(); }
  int64_t in_volume() const { return in_.volume; }
  int64_t out_volume() const { return out_.volume; }
  bool out_blocked() const { return !out_.loops.empty(); }
  void add(float* sums, const float* values) const;

 private:
  Reduction reduction_;
  BlockExtents in_;
  BlockExtents out_;
  BlockRows rows_;  ///< of `in`, through the result
};

/// Repeats a block along loops that it lacks and replaces what is beyond the valid elements.
class BlockPad {
 public:
  BlockPad(const Graph& graph, const Node& node);
  const BlockExtents& in() const { return in_; }
  const BlockExtents& out() const { return out_; }
  bool same_shape() const { return rows_.whole; }
  /// `valid`: elements inside along each loop of the result.
  void run(const float* in, std::span<const int64_t> valid, float* out) const;

 private:
  float init_;
  BlockExtents in_;
  BlockExtents out_;
  BlockRows rows_;
};

}  // namespace fuseflow::engine
