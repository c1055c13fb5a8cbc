#include "import/finish/round_results.h"

#include <algorithm>
#include <optional>

#include "ops/op_class.h"
#include "tensor/rounding.h"

namespace fuseflow {

namespace {

/// By node of a statement: whether its value is one of `type` whatever its operands are.
class HeldNodes {
 public:
  HeldNodes(const Program& program, const Statement& statement, ElementType type)
      : program_(program), type_(type) {
    for (const Expr& node : statement.nodes) held_.push_back(held(node));
  }

  bool root() const { return held_.back(); }

 private:
  bool child(const Expr& node, size_t c) const {
    return held_[static_cast<size_t>(node.children[c])];
  }

  bool held(const Expr& node) const {
    switch (node.kind) {
      case Expr::Kind::access: {
        const Tensor& tensor = program_.tensors[static_cast<size_t>(node.tensor)];
        return has_values_of(type_, tensor.type) && holds(type_, tensor.fill);
      }
      case Expr::Kind::constant:
        return holds(type_, node.constant);
      case Expr::Kind::coordinate:
        return false;
      case Expr::Kind::reduce:
        return (node.reduction == Reduction::max || node.reduction == Reduction::min) &&
               child(node, 0);
      case Expr::Kind::apply:
        break;
    }
    if (node.op == rounding_operator(type_)) return true;
    if (!keeps_type(node.op)) return false;
    const bool compares = is_boolean(node.op);
    for (size_t c = node.op == Op::where ? 1 : 0; c < node.children.size() && !compares; ++c) {
      if (!child(node, c)) return false;
    }
    return true;
  }

  const Program& program_;
  ElementType type_;
  std::vector<bool> held_;
};

}  // namespace

std::vector<bool> leave_their_groups(const DraftProgram& draft) {
  std::vector<int> group(draft.tensors.size(), -1);
  for (const DraftStatement& made : draft.statements)
    group[static_cast<size_t>(made.statement.result)] = made.group;
  std::vector<bool> leaves(draft.tensors.size(), false);
  for (const DraftStatement& made : draft.statements) {
    for (const Expr& node : made.statement.nodes) {
      if (node.kind != Expr::Kind::access) continue;
      const auto read = static_cast<size_t>(node.tensor);
      if (group[read] >= 0 && group[read] != made.group) leaves[read] = true;
    }
  }
  return leaves;
}

void round_value(Statement& statement, Op rounds) {
  Expr rounded;
  rounded.kind = Expr::Kind::apply;
  rounded.op = rounds;
  rounded.children = {static_cast<int32_t>(statement.nodes.size()) - 1};
  statement.nodes.push_back(std::move(rounded));
}

void round_results(Program& program, DraftProgram& draft) {
  const std::vector<bool> leaves = leave_their_groups(draft);
  for (DraftStatement& made : draft.statements) {
    Statement& statement = made.statement;
    const auto result = static_cast<size_t>(statement.result);
    Tensor& tensor = program.tensors[result];
    const std::optional<Op> rounds = rounding_operator(tensor.type);
    if (!rounds || HeldNodes(program, statement, tensor.type).root()) continue;
    if (!leaves[result]) {
      if (tensor.role == Role::temporary) tensor.type = ElementType::f32;
      continue;
    }
    round_value(statement, *rounds);
  }
}

}  // namespace fuseflow
