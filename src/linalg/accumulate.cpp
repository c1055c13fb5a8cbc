// Recognition of accumulators by the shape of the body.
#include "linalg/accumulate.h"

#include <algorithm>

#include "linalg/live.h"
#include "linalg/scalar_ops.h"

namespace fuseflow {

namespace {

const BodyNode& node_at(const LinalgOp& op, int32_t n) {
  return op.body[static_cast<size_t>(n)];
}

bool is_extreme(Reduction reduction) {
  return reduction == Reduction::max || reduction == Reduction::min;
}

/// The node without conversions. Those of integers make no difference to sums and products, which
/// wrap around in the end, but to maxima and minima if they change the order.
int32_t peeled(const LinalgOp& op, int32_t n, bool ordered) {
  while (node_at(op, n).kind == BodyNode::Kind::apply && is_conversion(node_at(op, n).op)) {
    const BodyNode& node = node_at(op, n);
    const int32_t from = node.children[0];
    if (ordered && !keeps_order(node.op, node_at(op, from).type, node.type)) break;
    n = from;
  }
  return n;
}

std::optional<Combination> combined(const BodyNode& node) {
  return combining(node.op, node.type);
}

bool is_operand(const LinalgOp& op, int32_t n, int32_t out, bool ordered) {
  const BodyNode& node = node_at(op, peeled(op, n, ordered));
  return node.kind == BodyNode::Kind::operand && node.operand == out;
}

/// The operands of nested combinations of one kind: ((out + a) + b) has out, a and b.
bool collect(const LinalgOp& op, int32_t n, int32_t out, bool negated, Accumulation& into,
             bool& found) {
  const bool ordered = is_extreme(into.reduction);
  if (is_operand(op, n, out, ordered)) {
    if (found || negated) return false;
    found = true;
    return true;
  }
  if (!depends_on(op, n, out)) {
    into.terms.push_back({n, negated});
    return true;
  }
  const BodyNode& node = node_at(op, peeled(op, n, ordered));
  if (node.kind != BodyNode::Kind::apply || node.children.size() != 2) return false;
  const bool minus =
      into.reduction == Reduction::sum && (node.op == "arith.subf" || node.op == "arith.subi");
  const Combination how{into.reduction, into.of_unsigned, into.skips_nan};
  if (!minus && combined(node) != how) return false;
  return collect(op, node.children[0], out, negated, into, found) &&
         collect(op, node.children[1], out, negated != minus, into, found);
}

/// select(a > b, a, b) is a maximum, and select(a > b, b, a) a minimum. A comparison with NaN
/// decides which of both is left; where that is the result so far, NaN changes nothing.
std::optional<Accumulation> selected(const LinalgOp& op, const BodyNode& node, int32_t out) {
  if (node.op != "arith.select") return std::nullopt;
  const BodyNode& test = node_at(op, node.children[0]);
  if (test.kind != BodyNode::Kind::apply || test.children.size() != 2) return std::nullopt;
  auto how = selecting(test.op, node_at(op, test.children[0]).type);
  if (!how) return std::nullopt;
  const int32_t yes = node.children[1];
  const int32_t no = node.children[2];
  if (yes == test.children[1] && no == test.children[0])
    how->reduction = how->reduction == Reduction::max ? Reduction::min : Reduction::max;
  else if (yes != test.children[0] || no != test.children[1])
    return std::nullopt;
  const bool first = is_operand(op, yes, out, true);
  if (!first && !is_operand(op, no, out, true)) return std::nullopt;
  const int32_t term = first ? no : yes;
  if (depends_on(op, term, out)) return std::nullopt;
  Accumulation result;
  result.reduction = how->reduction;
  result.of_unsigned = how->of_unsigned;
  result.skips_nan = test.op.starts_with("arith.cmpf") && holds_of_nan(test.op) == first;
  result.terms = {{term, false}};
  return result;
}

/// select(condition, combined, result so far) combines where the condition holds.
std::optional<Accumulation> guarded(const LinalgOp& op, const BodyNode& node, int32_t out) {
  if (node.op != "arith.select" || depends_on(op, node.children[0], out)) return std::nullopt;
  const bool unless = is_operand(op, node.children[1], out, false);
  if (!unless && !is_operand(op, node.children[2], out, false)) return std::nullopt;
  auto inside = accumulation(op, node.children[unless ? 2 : 1], out);
  if (!inside || inside->guard >= 0) return std::nullopt;
  if (is_extreme(inside->reduction) && !is_operand(op, node.children[unless ? 1 : 2], out, true))
    return std::nullopt;
  inside->guard = node.children[0];
  inside->unless = unless;
  return inside;
}

/// The accumulation that a node is, which is no conversion.
std::optional<Accumulation> accumulated_by(const LinalgOp& op, int32_t n, int32_t out) {
  const BodyNode& node = node_at(op, n);
  if (node.kind != BodyNode::Kind::apply) return std::nullopt;
  if (auto chosen = selected(op, node, out)) return chosen;
  if (auto held = guarded(op, node, out)) return held;
  Accumulation result;
  const bool minus = node.op == "arith.subf" || node.op == "arith.subi";
  const auto how = minus ? Combination{} : combined(node);
  if (!how) return std::nullopt;
  result.reduction = how->reduction;
  result.of_unsigned = how->of_unsigned;
  result.skips_nan = how->skips_nan;
  bool found = false;
  if (!collect(op, n, out, false, result, found) || !found || result.terms.empty())
    return std::nullopt;
  return result;
}

}  // namespace

bool depends_on(const LinalgOp& op, int32_t root, int32_t out) {
  const std::vector<bool> needed = needed_nodes(op, {root});
  for (size_t n = 0; n < needed.size(); ++n) {
    const BodyNode& node = op.body[n];
    if (needed[n] && node.kind == BodyNode::Kind::operand && node.operand == out) return true;
  }
  return false;
}

std::optional<Accumulation> accumulation(const LinalgOp& op, int32_t root, int32_t out) {
  const int32_t inner = peeled(op, root, false);
  auto found = accumulated_by(op, inner, out);
  if (found && is_extreme(found->reduction) && peeled(op, root, true) != inner) return std::nullopt;
  return found;
}

std::optional<ArgumentChoice> argument_choice(const LinalgOp& op, size_t result) {
  const auto inputs = static_cast<int32_t>(op.inputs.size());
  const BodyNode& node = node_at(op, peeled(op, op.yields[result], true));
  if (node.kind != BodyNode::Kind::apply || node.op != "arith.select") return std::nullopt;
  const auto mine = inputs + static_cast<int32_t>(result);
  if (!is_operand(op, node.children[2], mine, true)) return std::nullopt;
  const BodyNode& test = node_at(op, node.children[0]);
  if (test.kind != BodyNode::Kind::apply || test.children.size() != 2) return std::nullopt;
  const auto wanted = selecting(test.op, node_at(op, test.children[0]).type);
  for (size_t best = 0; wanted && best < op.yields.size(); ++best) {
    const auto so_far = inputs + static_cast<int32_t>(best);
    if (best == result || !is_operand(op, test.children[1], so_far, true)) continue;
    const auto found = accumulation(op, op.yields[best], so_far);
    if (!found || Combination{found->reduction, found->of_unsigned} != *wanted ||
        found->terms.size() != 1 ||
        peeled(op, found->terms[0].node, true) != peeled(op, test.children[0], true))
      continue;
    const bool last = test.op.ends_with("ge") || test.op.ends_with("le");
    return ArgumentChoice{best, node.children[1], last};
  }
  return std::nullopt;
}

}  // namespace fuseflow
