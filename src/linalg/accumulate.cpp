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

/// The node without conversions, which change nothing here.
int32_t peeled(const LinalgOp& op, int32_t n) {
  while (node_at(op, n).kind == BodyNode::Kind::apply && is_conversion(node_at(op, n).op))
    n = node_at(op, n).children[0];
  return n;
}

std::optional<Combination> combined(const BodyNode& node) {
  return combining(node.op, node.type);
}

bool is_operand(const LinalgOp& op, int32_t n, int32_t out) {
  const BodyNode& node = node_at(op, peeled(op, n));
  return node.kind == BodyNode::Kind::operand && node.operand == out;
}

/// The operands of nested combinations of one kind: ((out + a) + b) has out, a and b.
bool collect(const LinalgOp& op, int32_t n, int32_t out, bool negated, Accumulation& into,
             bool& found) {
  if (is_operand(op, n, out)) {
    if (found || negated) return false;
    found = true;
    return true;
  }
  if (!depends_on(op, n, out)) {
    into.terms.push_back({n, negated});
    return true;
  }
  const BodyNode& node = node_at(op, peeled(op, n));
  if (node.kind != BodyNode::Kind::apply || node.children.size() != 2) return false;
  const bool minus =
      into.reduction == Reduction::sum && (node.op == "arith.subf" || node.op == "arith.subi");
  if (!minus && combined(node) != Combination{into.reduction, into.of_unsigned}) return false;
  return collect(op, node.children[0], out, negated, into, found) &&
         collect(op, node.children[1], out, negated != minus, into, found);
}

/// select(a > b, a, b) is a maximum, and select(a > b, b, a) a minimum.
std::optional<Accumulation> selected(const LinalgOp& op, const BodyNode& node, int32_t out) {
  if (node.op != "arith.select") return std::nullopt;
  const BodyNode& test = node_at(op, node.children[0]);
  if (test.kind != BodyNode::Kind::apply || test.children.size() != 2) return std::nullopt;
  auto how = selecting(test.op);
  if (!how) return std::nullopt;
  const int32_t yes = node.children[1];
  const int32_t no = node.children[2];
  if (yes == test.children[1] && no == test.children[0])
    how->reduction = how->reduction == Reduction::max ? Reduction::min : Reduction::max;
  else if (yes != test.children[0] || no != test.children[1])
    return std::nullopt;
  const bool first = is_operand(op, yes, out);
  if (!first && !is_operand(op, no, out)) return std::nullopt;
  const int32_t term = first ? no : yes;
  if (depends_on(op, term, out)) return std::nullopt;
  return Accumulation{how->reduction, how->of_unsigned, {{term, false}}, -1, false};
}

/// select(condition, combined, result so far) combines where the condition holds.
std::optional<Accumulation> guarded(const LinalgOp& op, const BodyNode& node, int32_t out) {
  if (node.op != "arith.select" || depends_on(op, node.children[0], out)) return std::nullopt;
  const bool unless = is_operand(op, node.children[1], out);
  if (!unless && !is_operand(op, node.children[2], out)) return std::nullopt;
  auto inside = accumulation(op, node.children[unless ? 2 : 1], out);
  if (!inside || inside->guard >= 0) return std::nullopt;
  inside->guard = node.children[0];
  inside->unless = unless;
  return inside;
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
  const BodyNode& node = node_at(op, peeled(op, root));
  if (node.kind != BodyNode::Kind::apply) return std::nullopt;
  if (auto chosen = selected(op, node, out)) return chosen;
  if (auto held = guarded(op, node, out)) return held;
  Accumulation result;
  const bool minus = node.op == "arith.subf" || node.op == "arith.subi";
  const auto how = minus ? Combination{} : combined(node);
  if (!how) return std::nullopt;
  result.reduction = how->reduction;
  result.of_unsigned = how->of_unsigned;
  bool found = false;
  if (!collect(op, root, out, false, result, found) || !found || result.terms.empty())
    return std::nullopt;
  return result;
}

std::optional<ArgumentChoice> argument_choice(const LinalgOp& op, size_t result) {
  const auto inputs = static_cast<int32_t>(op.inputs.size());
  const BodyNode& node = node_at(op, peeled(op, op.yields[result]));
  if (node.kind != BodyNode::Kind::apply || node.op != "arith.select") return std::nullopt;
  const auto mine = inputs + static_cast<int32_t>(result);
  if (!is_operand(op, node.children[2], mine)) return std::nullopt;
  const BodyNode& test = node_at(op, node.children[0]);
  if (test.kind != BodyNode::Kind::apply || test.children.size() != 2) return std::nullopt;
  const auto wanted = selecting(test.op);
  for (size_t best = 0; wanted && best < op.yields.size(); ++best) {
    const auto so_far = inputs + static_cast<int32_t>(best);
    if (best == result || !is_operand(op, test.children[1], so_far)) continue;
    const auto found = accumulation(op, op.yields[best], so_far);
    if (!found || Combination{found->reduction, found->of_unsigned} != *wanted ||
        found->terms.size() != 1 ||
        peeled(op, found->terms[0].node) != peeled(op, test.children[0]))
      continue;
    const bool last = test.op.ends_with("ge") || test.op.ends_with("le");
    return ArgumentChoice{best, node.children[1], last};
  }
  return std::nullopt;
}

}  // namespace fuseflow
