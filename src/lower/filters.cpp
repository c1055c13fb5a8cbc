// Filters in streams: intermediates that are declared compressed go on without the entries that are
// their fill, as a stored tensor would (lowering.md, "Filters"). A part of Emitter and LoopOpener.
#include <algorithm>
#include <set>

#include "lower/open_loop.h"

namespace fuseflow {

using Kind = ExprNode::Kind;

/// A filter takes part in the innermost of its loops, if that is of a compressed level and encloses
/// others, whose fibers it saves. Else it would only take time, and its operand takes part.
LoopOpener::Formula LoopOpener::filter_formula(int n) {
  const ExprNode& expr = emitter_.node(n);
  const bool innermost = std::all_of(expr.free.begin(), expr.free.end(), [&](int index) {
    return index == index_ ||
           std::binary_search(context_.bound.begin(), context_.bound.end(), index);
  });
  const bool here =
      innermost && std::binary_search(expr.dropped.begin(), expr.dropped.end(), index_);
  if (here && !loops_inside_) loops_inside_ = has_loops_inside();
  if (!here || !*loops_inside_) {
    const Formula body = formula(expr.children[0]);
    return expr.by_structure ? body : Formulas::kAll;
  }
  Leaf leaf;
  leaf.node = n;
  leaf.pad = expr.constant;
  leaf.pending = true;
  return formulas_.leaf(add_leaf(std::move(leaf)));
}

/// Whether what the loop is opened for, filters and what they filter aside, has loops inside it.
bool LoopOpener::has_loops_inside() const {
  std::vector<int> todo{root_};
  std::set<int> seen;
  const auto inside = [&](int index) {
    return emitter_.rank_[index] > emitter_.rank_[index_] &&
           !std::binary_search(context_.bound.begin(), context_.bound.end(), index);
  };
  while (!todo.empty()) {
    const int n = todo.back();
    todo.pop_back();
    const ExprNode& expr = emitter_.node(n);
    if (expr.kind == Kind::filtered || !seen.insert(n).second) continue;
    if (std::any_of(expr.free.begin(), expr.free.end(), inside)) return true;
    if (std::any_of(expr.over.begin(), expr.over.end(), inside)) return true;
    todo.insert(todo.end(), expr.children.begin(), expr.children.end());
  }
  return false;
}

/// Filters are made where they decide where the loop goes. Elsewhere the value is that of the
/// operand, which takes part as if there were none.
void LoopOpener::settle_filters(Formula wanted, bool all) {
  for (size_t l = 0; l < leaves_.size(); ++l) {  // operands add to the leaves
    if (!leaves_[l].pending) continue;
    leaves_[l].pending = false;
    const int n = leaves_[l].node;
    if (all || !formulas_.mentions(wanted, static_cast<int>(l))) {
      leaves_[l].located = true;
      formula(emitter_.node(n).children[0]);
      continue;
    }
    StreamTensor stream = emitter_.filtered(n, context_, index_);
    leaves_[l].crd = stream.crds[0];
    leaves_[l].payload = stream.value.stream;
    leaves_[l].stream = std::move(stream);
  }
}

/// One loop over what a filter leaves of its child, whose other loops are open.
StreamTensor Emitter::filtered(int n, const Context& context, int index) {
  const auto key = std::tuple(n, context.space, std::vector<int>{index});
  const auto place = reductions_.find(key);
  if (place != reductions_.end()) return place->second;
  const ExprNode& expr = node(n);
  StreamTensor result = emit(expr.children[0], context, {index}, {!expr.by_structure});
  const StreamId value = as_stream(result);
  builder_.set_origin(expr.statement);
  Node filter;
  filter.kind = NodeKind::filter;
  filter.init = expr.constant;
  filter.inputs = streams_in({value, result.crds[0], value});
  const std::vector<int> loops = builder_.stream(value).indices;
  const std::vector<StreamId> made =
      builder_.add(std::move(filter), {{StreamKind::crd, loops}, {StreamKind::val, loops}});
  result.crds[0] = made[0];
  result.complete[0] = false;
  result.value = {made[1], 0};
  return reductions_[key] = result;
}

}  // namespace fuseflow
