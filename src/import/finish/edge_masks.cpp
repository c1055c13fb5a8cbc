#include "import/finish/edge_masks.h"

#include <optional>

#include "import/finish/infer.h"
#include "ir/sparsity.h"

namespace fuseflow {

namespace {

/// The value of node `top` off the matrix `edges`: all that edges have is absent there.
std::optional<float> value_off(const Program& program, const DraftProgram& draft,
                               const Statement& s, int32_t top, int edges) {
  std::vector<Operand> values;
  for (int32_t n = 0; n <= top; ++n) {
    const Expr& node = s.nodes[static_cast<size_t>(n)];
    Operand value;
    if (node.kind == Expr::Kind::constant) {
      value = {node.constant, facts_of_constant(node.constant)};
    } else if (node.kind == Expr::Kind::access) {
      const auto t = static_cast<size_t>(node.tensor);
      value.facts = draft.expected[t];
      const bool absent = draft.tensors[t].edges == edges && !program.tensors[t].format.all_dense();
      if (absent) value.constant = program.tensors[t].fill;
    } else if (node.kind == Expr::Kind::apply) {
      std::vector<Operand> operands;
      for (const int32_t c : node.children) operands.push_back(values[static_cast<size_t>(c)]);
      value = {constant_result(node.op, operands), result_facts(node.op, operands)};
    } else if (node.kind == Expr::Kind::reduce) {
      const Operand& body = values[static_cast<size_t>(node.children[0])];
      double count = 1;
      for (const IndexId i : node.over)
        count *= static_cast<double>(s.indices[static_cast<size_t>(i)].extent);
      if (body.constant) value.constant = reduced_fill(node.reduction, *body.constant, count);
      value.facts = reduced_facts(node.reduction, body.facts, count);
    }
    values.push_back(value);
  }
  return values[static_cast<size_t>(top)].constant;
}

/// The statement with the first operand of the selection in node `mask` in its place; its node.
Statement unmasked(const Statement& s, int32_t mask, int32_t& value) {
  Statement result = s;
  result.nodes.clear();
  const auto take = [&](auto&& self, int32_t n) -> int32_t {
    if (n == mask) return value = self(self, s.nodes[static_cast<size_t>(n)].children[1]);
    Expr copy = s.nodes[static_cast<size_t>(n)];
    for (int32_t& c : copy.children) c = self(self, c);
    result.nodes.push_back(std::move(copy));
    return static_cast<int32_t>(result.nodes.size()) - 1;
  };
  take(take, static_cast<int32_t>(s.nodes.size()) - 1);
  return result;
}

/// Tries the statement without the mask in node `mask`.
bool drop(Program& program, const DraftProgram& draft, Statement& statement, int32_t mask) {
  const Expr& choice = statement.nodes[static_cast<size_t>(mask)];
  const Expr& matrix = statement.nodes[static_cast<size_t>(choice.children[0])];
  const float masked = statement.nodes[static_cast<size_t>(choice.children[2])].constant;
  const int edges = draft.tensors[static_cast<size_t>(matrix.tensor)].edges;
  if (value_off(program, draft, statement, choice.children[1], edges) != masked) return false;
  int32_t value = -1;
  const Statement without = unmasked(statement, mask, value);
  std::vector<Facts> assumed;
  assumed.reserve(program.tensors.size());
  for (const Tensor& t : program.tensors) assumed.push_back(t.assumed);
  assume_where_needed(program, draft, without);
  const NodeSparsity found = analyse(program, without)[static_cast<size_t>(value)];
  if (found.fill == masked && found.presence.kind != Presence::Kind::all) {
    statement = without;
    return true;
  }
  for (size_t t = 0; t < assumed.size(); ++t) program.tensors[t].assumed = assumed[t];
  return false;
}

bool is_edge_mask(const DraftProgram& draft, const Statement& s, const Expr& node) {
  if (node.kind != Expr::Kind::apply || node.op != Op::where) return false;
  const Expr& bits = s.nodes[static_cast<size_t>(node.children[0])];
  return bits.kind == Expr::Kind::access &&
         draft.tensors[static_cast<size_t>(bits.tensor)].edge_matrix &&
         s.nodes[static_cast<size_t>(node.children[2])].kind == Expr::Kind::constant;
}

}  // namespace

void drop_edge_masks(Program& program, const DraftProgram& draft, Statement& statement) {
  for (size_t n = statement.nodes.size(); n-- > 0;) {
    if (n >= statement.nodes.size() || !is_edge_mask(draft, statement, statement.nodes[n]))
      continue;
    if (drop(program, draft, statement, static_cast<int32_t>(n))) n = statement.nodes.size();
  }
}

}  // namespace fuseflow
