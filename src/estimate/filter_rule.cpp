#include "estimate/filter_rule.h"

#include <algorithm>

#include "ops/op_class.h"
#include "tensor/storage.h"

namespace fuseflow::estimate {

namespace {

constexpr size_t kMostReferences = 10;
constexpr int kMostDepth = 64;

}  // namespace

FilterRule::FilterRule(const Structure& structure, const Node& filter) : s_(structure) {
  const StreamId value = source(filter.inputs[0].stream);
  collect(value, 0);
  for (uint32_t absent = 0; absent < (1U << references_.size()); ++absent) {
    const Operand result = evaluate(value, absent, 0);
    drops_.push_back(result.constant && same_value(*result.constant, filter.init));
  }
  const Node& last = s_.node(s_.graph->streams[static_cast<size_t>(value)].producer);
  halves_ = last.kind == NodeKind::map && last.op == Op::relu && filter.init == 0;
}

/// After repeats and buffers.
StreamId FilterRule::source(StreamId value) const {
  const Column c = s_.canonical[static_cast<size_t>(value)];
  return s_.column(c).kind == ColumnInfo::Kind::stream ? c : value;
}

void FilterRule::collect(StreamId value, int depth) {
  const Node& node = s_.node(s_.graph->streams[static_cast<size_t>(value)].producer);
  if (node.kind == NodeKind::map && depth < kMostDepth) {
    for (const Input& in : node.inputs) {
      if (!in.is_immediate()) collect(source(in.stream), depth + 1);
    }
  } else if (node.kind == NodeKind::array && references_.size() < kMostReferences) {
    const StreamId ref = node.inputs[0].stream;
    const Column c = s_.canonical[static_cast<size_t>(ref)];
    if (!s_.spaces.may_be_absent[static_cast<size_t>(ref)]) return;
    if (std::find(references_.begin(), references_.end(), c) == references_.end()) {
      references_.push_back(c);
    }
  }
}

/// A stored entry: of a truth value that is listed the other one than the fill; one of a dense
/// tensor may be either. Blocks hold entries that equal the fill, too.
Operand FilterRule::entry(const Tensor& tensor, Operand unknown) {
  const std::vector<LevelKind>& levels = tensor.format.levels;
  const bool listed = std::any_of(levels.begin(), levels.end(),
                                  [](LevelKind kind) { return kind != LevelKind::dense; });
  const bool boolean = tensor.type == ElementType::boolean;
  const bool plain = tensor.format.block.empty();
  if (listed && plain && boolean && (tensor.fill == 0 || tensor.fill == 1)) {
    return {1 - tensor.fill, facts_of_constant(1 - tensor.fill)};
  }
  unknown.facts.nonzero = tensor.fill == 0 && plain && !boolean;
  return unknown;
}

Operand FilterRule::evaluate(StreamId value, uint32_t absent, int depth) const {
  Operand unknown;
  unknown.facts.finite = unknown.facts.no_nan = unknown.facts.below_inf = true;
  unknown.facts.nonzero = true;
  const Node& node = s_.node(s_.graph->streams[static_cast<size_t>(value)].producer);
  if (node.kind == NodeKind::map && depth < kMostDepth) {
    std::vector<Operand> operands;
    for (const Input& in : node.inputs) {
      operands.push_back(in.is_immediate() ? Operand{in.immediate, facts_of_constant(in.immediate)}
                                           : evaluate(source(in.stream), absent, depth + 1));
    }
    const std::optional<float> constant = constant_result(node.op, operands);
    unknown.facts.nonzero = !is_boolean(node.op);  // a comparison may say no
    return constant ? Operand{constant, facts_of_constant(*constant)} : unknown;
  }
  if (node.kind == NodeKind::array) {
    const Column c = s_.canonical[static_cast<size_t>(node.inputs[0].stream)];
    const auto found = std::find(references_.begin(), references_.end(), c);
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
    if (found != references_.end() && ((absent >> (found - references_.begin())) & 1U) != 0) {
      return {tensor.fill, facts_of_constant(tensor.fill)};
    }
    return entry(tensor, unknown);
  }
  return unknown;
}

}  // namespace fuseflow::estimate
