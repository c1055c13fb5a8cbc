// Statements of several reductions as statements of one each.
#include <algorithm>

#include "rewrite/site.h"

namespace fuseflow {

namespace {

bool is_reduction(const Term& term) {
  return term.expr.kind == Expr::Kind::reduce;
}

int64_t reductions_in(const Term& term) {
  int64_t all = is_reduction(term) ? 1 : 0;
  for (const Term& child : term.children) all += reductions_in(child);
  return all;
}

/// The first reduction without one in it; null: there is none.
Term* innermost(Term& term) {
  for (Term& child : term.children) {
    if (Term* found = innermost(child)) return found;
  }
  return is_reduction(term) ? &term : nullptr;
}

}  // namespace

std::optional<Rewrite> divide_reductions(const Program& program, const Statement& statement) {
  Scope scope;
  const std::vector<IndexId> places = add_indices(program, statement, scope);
  Term root = term_at(statement, static_cast<int32_t>(statement.nodes.size()) - 1, places);
  const int64_t reductions = reductions_in(root);
  if (reductions < 2) return std::nullopt;
  const Definitions definitions(program);
  Site site{program, program.tensors, definitions, {}};
  for (const Tensor& tensor : program.tensors) site.names.insert(tensor.name);
  KnownTensors known(site);
  Rewrite rewrite;
  rewrite.kind = RewriteKind::hoist;
  rewrite.before = statement.result;
  for (int64_t left = reductions; left > 1; --left) {
    Term& part = *innermost(root);
    const std::vector<IndexId> indices = free_indices(part);
    const auto read = add_intermediate(scope, indices, part, statement, {}, known, rewrite);
    if (!read) return std::nullopt;
    part = *read;
  }
  Statement last = statement_of(scope, statement.result, statement.result_indices, root);
  last.from = statement.from;
  last.where = statement.where;
  rewrite.replaced.push_back(std::move(last));
  return rewrite;
}

}  // namespace fuseflow
