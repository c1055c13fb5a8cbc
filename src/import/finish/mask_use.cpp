#include "import/finish/mask_use.h"

#include <optional>
#include <vector>

namespace fuseflow {

namespace {

/// The value of an elementwise statement that reads only `tensor`, where that tensor is `at`.
std::optional<float> value_at(const Statement& s, TensorId tensor, float at) {
  std::vector<float> values;
  bool reads = false;
  for (const Expr& node : s.nodes) {
    std::vector<float> operands;
    for (const int32_t c : node.children) operands.push_back(values[static_cast<size_t>(c)]);
    switch (node.kind) {
      case Expr::Kind::constant:
        values.push_back(node.constant);
        break;
      case Expr::Kind::access:
        if (node.tensor != tensor) return std::nullopt;
        reads = true;
        values.push_back(at);
        break;
      case Expr::Kind::apply:
        values.push_back(evaluate(node.op, operands));
        break;
      default:
        return std::nullopt;
    }
  }
  return reads ? std::optional<float>(values.back()) : std::nullopt;
}

/// The mask value at which some `where` gives a constant. 0 also if a mask is computed from the
/// tensor (mask == 0) that masks there.
std::optional<float> masking_value(const DraftProgram& draft, TensorId tensor) {
  for (const DraftStatement& made : draft.statements) {
    const auto& nodes = made.statement.nodes;
    for (const Expr& node : nodes) {
      if (node.kind != Expr::Kind::apply || node.op != Op::where) continue;
      const Expr& mask = nodes[static_cast<size_t>(node.children[0])];
      if (mask.kind != Expr::Kind::access || mask.tensor != tensor) continue;
      if (nodes[static_cast<size_t>(node.children[1])].kind == Expr::Kind::constant) return 1.0F;
      if (nodes[static_cast<size_t>(node.children[2])].kind == Expr::Kind::constant) return 0.0F;
    }
    const auto computed = value_at(made.statement, tensor, 0);
    if (computed && made.statement.result > tensor &&
        masking_value(draft, made.statement.result) == computed)
      return 0.0F;
  }
  return std::nullopt;
}

/// Whether it is an operand of additions or subtractions, by itself or times a number.
void find_sums(const DraftProgram& draft, TensorId tensor, bool negated, MaskUse& use) {
  for (const DraftStatement& made : draft.statements) {
    const Statement& s = made.statement;
    for (const Expr& node : s.nodes) {
      const bool sub = node.op == Op::sub;
      if (node.kind != Expr::Kind::apply || (node.op != Op::add && !sub)) continue;
      for (size_t c = 0; c < node.children.size(); ++c) {
        const Expr& operand = s.nodes[static_cast<size_t>(node.children[c])];
        if (operand.kind != Expr::Kind::access || operand.tensor != tensor) continue;
        const bool subtracted = (sub && c == 1) != negated;
        (subtracted ? use.subtracted : use.added) = true;
      }
    }
    if (s.result <= tensor || value_at(s, tensor, 0) != 0.0F) continue;
    const float slope = value_at(s, tensor, 1).value_or(0);
    if (slope != 0) find_sums(draft, s.result, negated != (slope < 0), use);
  }
}

}  // namespace

MaskUse mask_use(const DraftProgram& draft, TensorId tensor) {
  MaskUse use;
  use.closed = masking_value(draft, tensor);
  find_sums(draft, tensor, false, use);
  use.read_outside = draft.tensors[static_cast<size_t>(tensor)].read_outside;
  return use;
}

}  // namespace fuseflow
