#include "import/finish/nan_guards.h"

#include <algorithm>

namespace fuseflow {

namespace {

/// The statement with child number `child` of its selection in node `selection` in its place.
Statement with_choice(const Statement& s, size_t selection, size_t child) {
  Statement result = s;
  result.nodes.clear();
  const auto take = [&](auto&& self, int32_t n) -> int32_t {
    const Expr& node = s.nodes[static_cast<size_t>(n)];
    if (static_cast<size_t>(n) == selection) return self(self, node.children[child]);
    Expr copy = node;
    for (int32_t& c : copy.children) c = self(self, c);
    result.nodes.push_back(std::move(copy));
    return static_cast<int32_t>(result.nodes.size()) - 1;
  };
  take(take, static_cast<int32_t>(s.nodes.size()) - 1);
  return result;
}

/// The tensor that a statement copies element by element; -1: it does more.
TensorId copied_by(const Program& program, const Statement& s) {
  const Expr& root = s.nodes.back();
  if (s.nodes.size() != 1 || root.kind != Expr::Kind::access) return -1;
  const Tensor& from = program.tensors[static_cast<size_t>(root.tensor)];
  const Tensor& to = program.tensors[static_cast<size_t>(s.result)];
  if (from.type != to.type || root.subscripts.size() != s.result_indices.size()) return -1;
  for (size_t d = 0; d < root.subscripts.size(); ++d) {
    const Subscript& at = root.subscripts[d];
    if (!at.is_plain() || at.plain() != s.result_indices[d]) return -1;
    if (from.shape[d].value != to.shape[d].value) return -1;
  }
  return root.tensor;
}

/// Is a tensor the result of a softmax? Of scores that are finite or -inf it does not overflow.
bool is_softmax(const DraftProgram& draft, TensorId tensor) {
  const auto defines = [&](const DraftStatement& made) { return made.statement.result == tensor; };
  const auto found = std::find_if(draft.statements.begin(), draft.statements.end(), defines);
  if (found == draft.statements.end()) return false;
  const std::vector<Expr>& nodes = found->statement.nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Expr& node) {
    return node.kind == Expr::Kind::access &&
           draft.tensors[static_cast<size_t>(node.tensor)].nonzero_if >= 0;  // the denominator
  });
}

void read_instead(DraftProgram& draft, TensorId copy, TensorId original) {
  for (DraftStatement& made : draft.statements) {
    for (Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access && node.tensor == copy) node.tensor = original;
    }
  }
}

}  // namespace

/// Is a condition false everywhere? What that depends on is assumed.
bool NanGuards::never(Program& program, const DraftProgram& draft, const Statement& s,
                      const Expr& node) const {
  if (node.kind == Expr::Kind::access) return never_.contains(node.tensor);
  if (node.kind != Expr::Kind::apply || node.op != Op::isnan) return false;
  const Expr& read = s.nodes[static_cast<size_t>(node.children[0])];
  if (read.kind != Expr::Kind::access) return false;
  Tensor& tensor = program.tensors[static_cast<size_t>(read.tensor)];
  if (tensor.facts.no_nan) return true;
  if (!draft.expected[static_cast<size_t>(read.tensor)].no_nan) return false;
  if (!is_softmax(draft, read.tensor)) return false;
  tensor.assumed.no_nan = true;
  return true;
}

bool NanGuards::drop(Program& program, DraftProgram& draft, size_t s) {
  Statement& statement = draft.statements[s].statement;
  const bool temporary =
      program.tensors[static_cast<size_t>(statement.result)].role == Role::temporary;
  if (temporary && never(program, draft, statement, statement.root())) {
    never_.insert(statement.result);
    unneeded_.insert(statement.result);
    return true;  // something else than a guard may read it
  }
  bool dropped = false;
  for (size_t n = statement.nodes.size(); n-- > 0;) {
    if (n >= statement.nodes.size()) continue;
    const Expr& node = statement.nodes[n];
    const bool selects = node.kind == Expr::Kind::apply && node.op == Op::where;
    if (!selects) continue;
    const Expr& condition = statement.nodes[static_cast<size_t>(node.children[0])];
    if (!never(program, draft, statement, condition)) continue;
    statement = with_choice(statement, n, 2);
    n = statement.nodes.size();
    dropped = true;
  }
  const TensorId original = dropped && temporary ? copied_by(program, statement) : -1;
  if (original < 0) return true;
  const TensorId copy = statement.result;
  read_instead(draft, copy, original);
  unneeded_.insert(copy);
  return false;
}

void NanGuards::remove_unneeded(DraftProgram& draft) const {
  std::set<TensorId> read;
  for (const DraftStatement& made : draft.statements) {
    if (unneeded_.contains(made.statement.result)) continue;
    for (const Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access) read.insert(node.tensor);
    }
  }
  std::erase_if(draft.statements, [&](const DraftStatement& made) {
    return unneeded_.contains(made.statement.result) && !read.contains(made.statement.result);
  });
}

}  // namespace fuseflow
