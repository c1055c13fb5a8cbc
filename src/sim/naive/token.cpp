// Naive executor: the nodes that handle one token of each input a step (map, coordinate, buffer,
// filter), repeat and drop.
#include <algorithm>
#include <array>
#include <bit>

#include "sim/naive/block.h"
#include "sim/naive/node.h"

namespace fuseflow::naive {
namespace {

class MapNode final : public NodeRun {
 public:
  MapNode(const Context& context, NodeId id) : NodeRun(context, id), blocks_(context.graph, node_) {
    while (node_.inputs[first_].is_immediate()) ++first_;
  }

  bool step() override {
    begin();
    const Token* head = need(first_);
    if (head == nullptr) return false;
    Token out = *head;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!operand(i, out)) return false;
    }
    const std::span<const float> operands(operands_.data(), node_.inputs.size());
    if (out.is_payload()) {
      if (blocks_.scalar()) {
        out.payload = std::bit_cast<uint32_t>(evaluate(node_.op, operands));
      } else {
        out = evaluate_blocks();
      }
    }
    give(0, out);
    if (!commit_like(out)) return false;
    if (out.is_payload()) count_flops(blocks_.flops());
    return true;
  }

 private:
  bool operand(size_t i, const Token& like) {
    operands_[i] = node_.inputs[i].immediate;
    if (node_.inputs[i].is_immediate()) return true;
    if (!take_like(i, 1, like)) return false;
    operands_[i] = std::bit_cast<float>(need(i)->payload);
    return true;
  }

  Token evaluate_blocks() {
    std::vector<const Token*> tokens;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      tokens.push_back(node_.inputs[i].is_immediate() ? nullptr : need(i));
    }
    return blocks_.evaluate(tokens);
  }

  const BlockMap blocks_;
  size_t first_ = 0;
  std::array<float, 3> operands_{};
};

/// Inputs: a value, coordinates of its loop or of loops around it.
class PadNode final : public NodeRun {
 public:
  PadNode(const Context& context, NodeId id)
      : NodeRun(context, id),
        in_(block_shape(context.graph, node_.inputs[0].stream)),
        out_(block_shape(context.graph, node_.outputs[0])),
        strides_(strides_over(in_, out_.loops)),
        valid_(out_.extents) {}

  bool step() override {
    begin();
    const Token* head = need(0);
    if (head == nullptr) return false;
    const Token like = *head;
    take(0);
    for (size_t i = 1; i < input_count(); ++i) {
      if (!read_coordinate(i, like)) return false;
    }
    give(0, like.is_payload() ? padded(like) : like);
    return commit_like(like);
  }

 private:
  bool read_coordinate(size_t i, const Token& like) {
    const Token* coordinate = nullptr;
    if (!take_with(i, 0, like, &coordinate)) return false;
    if (!like.is_payload()) return true;
    const StreamId stream = node_.inputs[i].stream;
    const int loop = context_.graph.streams[stream].indices.back();
    const GraphIndex& index = context_.graph.indices[loop];
    for (size_t d = 0; d < out_.loops.size(); ++d) {
      if (out_.loops[d] != loop) continue;
      valid_[d] =
          std::clamp<int64_t>(index.elements() - coordinate->payload * index.block, 0, index.block);
    }
    return true;
  }

  Token padded(const Token& token) const {
    const float* values = block_values(token);
    std::vector<float> out;
    out.reserve(static_cast<size_t>(out_.volume));
    for_each_offset(out_.extents, strides_, [&](int64_t offset) {
      bool inside = true;
      auto rest = static_cast<int64_t>(out.size());
      for (size_t d = out_.extents.size(); d-- > 0; rest /= out_.extents[d]) {
        inside = inside && rest % out_.extents[d] < valid_[d];
      }
      out.push_back(inside ? values[offset] : node_.init);
    });
    return block_token(out_, std::move(out));
  }

  const BlockShape in_;
  const BlockShape out_;
  const std::vector<int64_t> strides_;
  std::vector<int64_t> valid_;  ///< by loop of the result: elements inside
};

/// coordinate and buffer: one input, one output.
class PassNode final : public NodeRun {
 public:
  using NodeRun::NodeRun;
  bool step() override {
    begin();
    const Token* head = need(0);
    if (head == nullptr) return false;
    Token out = *head;
    if (node_.kind == NodeKind::coordinate && out.is_payload()) out = numbers(out.payload);
    take(0);
    give(0, out);
    return commit_like(out);
  }

 private:
  /// The coordinate as a number; of a block: those of its elements.
  Token numbers(uint32_t coordinate) const {
    const BlockShape shape = block_shape(context_.graph, node_.outputs[0]);
    std::vector<float> values;
    for (int64_t k = 0; k < shape.volume; ++k) {
      values.push_back(static_cast<float>(coordinate * shape.volume + k));
    }
    return block_token(shape, std::move(values));
  }
};

class RepeatNode final : public NodeRun {
 public:
  using NodeRun::NodeRun;
  bool step() override {
    begin();
    const Token* signal = need(1);
    if (signal == nullptr) return false;
    Token out = *signal;
    const Token* repeated = nullptr;
    if (!along(0, 1, out, &repeated)) return false;
    if (out.is_payload()) {
      out.payload = repeated->payload;
      out.block = repeated->block;
    }
    take(1);
    give(0, out);
    return commit_like(out);
  }
};

/// Inputs: values, then the streams that are filtered by them. Outputs: the latter.
class FilterNode final : public NodeRun {
 public:
  using NodeRun::NodeRun;
  bool step() override {
    begin();
    const Token* head = need(0);
    if (head == nullptr) return false;
    const Token like = *head;
    const bool keep = !like.is_payload() || differs(like);
    take(0);
    for (size_t i = 1; i < input_count(); ++i) {
      if (!take_like(i, 1, like)) return false;
      if (keep) give(i - 1, *need(i));
    }
    return commit_like(like);
  }

 private:
  bool differs(const Token& token) const {
    if (!token.block) return !same_value(std::bit_cast<float>(token.payload), node_.init);
    return std::any_of(token.block->begin(), token.block->end(),
                       [&](float value) { return !same_value(value, node_.init); });
  }
};

/// Inputs and outputs: outer crd and payloads (groups[0] of them), then inner ones (groups[1]).
class DropNode final : public NodeRun {
 public:
  DropNode(const Context& context, NodeId id)
      : NodeRun(context, id), outer_(static_cast<size_t>(node_.groups.at(0))) {}

  bool step() override {
    begin();
    const Token* head = need(outer_);
    if (head == nullptr) return false;
    const Token inner = *head;
    const bool first = inner.is_payload() && !in_fiber_;
    if (inner.is_stop() && inner.stop >= 1) give_inner(end_stop(inner));
    if (first && held_) give_inner(stop_token(0, 1));
    if (!go_outer(inner, first)) return false;
    for (size_t i = outer_; i < input_count(); ++i) {
      if (!take_like(i, 1, inner)) return false;
      if (!inner.is_stop()) give(i, *need(i));
    }
    if (!commit_like(inner)) return false;
    update(inner, first);
    return true;
  }

 private:
  void give_inner(const Token& token) {
    for (size_t i = outer_; i < input_count(); ++i) give(i, token);
  }

  /// The stop of an inner fiber that also ends outer ones: bit 0 tells whether an element is left.
  Token end_stop(const Token& inner) const {
    const bool left = in_fiber_ || held_;
    return stop_token(inner.stop, (inner.bits & ~1U) | (left ? 1U : 0U));
  }

  bool go_outer(const Token& inner, bool first) {
    for (size_t i = 0; i < outer_; ++i) {
      const Token* payload = nullptr;
      if (!along(i, 1, inner, &payload)) return false;
      if (first) give(i, *payload);
      if (inner.is_stop() && inner.stop >= 1) give(i, stop_token(inner.stop - 1, inner.bits >> 1));
      if (inner.is_done()) give(i, done_token());
    }
    return true;
  }

  void update(const Token& inner, bool first) {
    if (inner.is_payload()) {
      if (first) held_ = false;
      in_fiber_ = true;
    } else if (inner.is_stop()) {
      held_ = inner.stop == 0 && (held_ || in_fiber_);
      in_fiber_ = false;
    }
  }

  const size_t outer_;
  bool in_fiber_ = false;  ///< the current inner fiber has an element
  bool held_ = false;      ///< a stop S0 of an earlier inner fiber has still to be given
};

}  // namespace

FUSEFLOW_RUN(map, MapNode)
FUSEFLOW_RUN(coordinate, PassNode)
FUSEFLOW_RUN(buffer, PassNode)
FUSEFLOW_RUN(pad, PadNode)
FUSEFLOW_RUN(repeat, RepeatNode)
FUSEFLOW_RUN(filter, FilterNode)
FUSEFLOW_RUN(drop, DropNode)

}  // namespace fuseflow::naive
