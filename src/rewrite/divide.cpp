// Statements that a kernel has no good form for, as several: of several reductions one each, and
// the computed operands of a product before it.
#include <algorithm>
#include <set>

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

/// The only reduction; null: there is none, or there are several.
Term* only_reduction(Term& root) {
  return reductions_in(root) == 1 ? innermost(root) : nullptr;
}

bool has_access(const Term& term) {
  return term.expr.kind == Expr::Kind::access ||
         std::any_of(term.children.begin(), term.children.end(), has_access);
}

/// The loops of more than one step that a term depends on.
std::set<IndexId> loops_of(const Scope& scope, const Term& term) {
  std::set<IndexId> loops;
  for (const IndexId index : free_indices(term)) {
    if (scope.extents[static_cast<size_t>(index)].value != 1) loops.insert(index);
  }
  return loops;
}

/// Whether the sum of a * b is a product of matrices: each summed loop in both, and at least one
/// loop of the result in one of them alone.
bool are_matrices(const Scope& scope, const Term& sum) {
  const Term& product = sum.children[0];
  const std::set<IndexId> a = loops_of(scope, product.children[0]);
  const std::set<IndexId> b = loops_of(scope, product.children[1]);
  const auto summed = [&](IndexId index) {
    if (scope.extents[static_cast<size_t>(index)].value == 1) return true;
    return a.contains(index) && b.contains(index);
  };
  return a != b && std::all_of(sum.expr.over.begin(), sum.expr.over.end(), summed);
}

}  // namespace

std::optional<Rewrite> divide_operands(const Program& program, const Statement& statement) {
  Scope scope;
  const std::vector<IndexId> places = add_indices(program, statement, scope);
  Term root = term_at(statement, static_cast<int32_t>(statement.nodes.size()) - 1, places);
  Term* sum = only_reduction(root);
  if (sum == nullptr || sum->expr.reduction != Reduction::sum) return std::nullopt;
  Term& product = sum->children[0];
  if (product.expr.kind != Expr::Kind::apply || product.expr.op != Op::mul) return std::nullopt;
  if (!are_matrices(scope, *sum)) return std::nullopt;
  const size_t loops = loops_of(scope, product).size();
  const Definitions definitions(program);
  Site site{program, program.tensors, definitions, {}};
  for (const Tensor& tensor : program.tensors) site.names.insert(tensor.name);
  KnownTensors known(site);
  Rewrite rewrite;
  rewrite.kind = RewriteKind::hoist;
  rewrite.before = statement.result;
  for (Term& operand : product.children) {
    if (!computes(operand) && has_access(operand)) continue;
    // One that has all loops would be larger than both operands together.
    if (!has_access(operand) || loops_of(scope, operand).size() == loops) return std::nullopt;
    const auto read =
        add_intermediate(scope, free_indices(operand), operand, statement, {}, known, rewrite);
    if (!read) return std::nullopt;
    operand = *read;
  }
  if (rewrite.added.empty()) return std::nullopt;
  Statement last = statement_of(scope, statement.result, statement.result_indices, root);
  last.from = statement.from;
  last.where = statement.where;
  rewrite.replaced.push_back(std::move(last));
  return rewrite;
}

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
