#include "import/finish/broadcasts.h"

#include <algorithm>

namespace fuseflow {

namespace {

/// Does the value of a statement differ along an index of its result?
bool differs_along(const Statement& s, IndexId index) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& node) {
    if (node.kind == Expr::Kind::coordinate) return node.index == index;
    return std::any_of(node.subscripts.begin(), node.subscripts.end(), [&](const Subscript& at) {
      return std::any_of(at.terms.begin(), at.terms.end(),
                         [&](const auto& term) { return term.first == index; });
    });
  });
}

template <class Visit>
void each_access(DraftProgram& draft, TensorId tensor, const Visit& visit) {
  for (DraftStatement& made : draft.statements) {
    for (Expr& node : made.statement.nodes) {
      if (node.kind == Expr::Kind::access && node.tensor == tensor) visit(made.statement, node);
    }
  }
}

/// Is a subscript between 0 and `extent` for all values of its indices?
bool is_inside(const Statement& s, const Subscript& at, int64_t extent) {
  int64_t low = at.offset, high = at.offset;
  for (const auto& [index, factor] : at.terms) {
    const int64_t reach = factor * (s.indices[static_cast<size_t>(index)].extent - 1);
    (factor > 0 ? high : low) += reach;
  }
  return low >= 0 && high < extent;
}

/// Drops dimension `d` of what statement number `s` computes, where all reads are of elements that
/// are there.
bool drop_dimension(DraftProgram& draft, size_t s, size_t d) {
  Statement& statement = draft.statements[s].statement;
  Draft& result = draft.tensors[static_cast<size_t>(statement.result)];
  bool inside = true;
  each_access(draft, statement.result, [&](const Statement& reader, const Expr& node) {
    inside = inside && is_inside(reader, node.subscripts[d], result.shape[d]);
  });
  if (!inside) return false;
  const auto at = static_cast<std::ptrdiff_t>(d);
  each_access(draft, statement.result, [&](const Statement& /*reader*/, Expr& node) {
    node.subscripts.erase(node.subscripts.begin() + at);
  });
  statement.result_indices.erase(statement.result_indices.begin() + at);
  result.shape.erase(result.shape.begin() + at);
  return true;
}

}  // namespace

void drop_broadcasts(DraftProgram& draft) {
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const Statement& statement = draft.statements[s].statement;
    const Draft& result = draft.tensors[static_cast<size_t>(statement.result)];
    if (result.tensor.role != Role::temporary || result.pinned || result.edges >= 0) continue;
    for (size_t d = statement.result_indices.size(); d-- > 0;) {
      if (!differs_along(statement, statement.result_indices[d])) drop_dimension(draft, s, d);
    }
  }
}

}  // namespace fuseflow
