#include "rewrite/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"

namespace fuseflow {

namespace {

std::string tensor_text(const Tensor& tensor) {
  return "%" + quote_if_needed(tensor.name);
}

/// A tensor whose absent entries are infinite or NaN cannot be assumed to be finite.
void refuse_fill(const Tensor& tensor, Rewrite& rewrite) {
  if (tensor.format.all_dense() || std::isfinite(tensor.fill) || !rewrite.refused.empty()) return;
  rewrite.refused = fmt::format("{} would have to be finite, and its absent entries are {}",
                                tensor_text(tensor), float_text(tensor.fill));
}

/// What is known of the result when its sums are done otherwise: what the new statement proves;
/// what else was known before is assumed, but for ranges, which rounding may leave.
NewFacts facts_after(const Site& site, const Statement& statement, const KnownTensors& known,
                     bool inner_sum, Rewrite& rewrite) {
  const Tensor& before = site.program.tensors[static_cast<size_t>(statement.result)];
  Facts proved = held_facts(known.infer(statement).facts, before.type);
  if (!before.format.all_dense()) proved = both(proved, facts_of_constant(before.fill));
  Facts wanted = admitted_facts(before);
  wanted.finite = wanted.finite || inner_sum;
  wanted = without_range(wanted);
  NewFacts after{statement.result, both(wanted, without_range(proved)), before.assumed};
  const Facts all = joined(after.facts, after.assumed);
  if (joined(all, wanted) == all) return after;
  after.assumed = joined(after.assumed, wanted);
  if (after.assumed.finite) refuse_fill(before, rewrite);
  rewrite.assumed.push_back(
      fmt::format("{} is {}", tensor_text(before), facts_text(after.assumed)));
  return after;
}

/// Old intermediates that may have been infinite where the new statements are not.
void assume_finite(const Site& site, const std::vector<TensorId>& tensors, Rewrite& rewrite) {
  for (const TensorId t : tensors) {
    const auto i = static_cast<size_t>(t);
    const Tensor& tensor = site.program.tensors[i];
    if (joined(admitted_facts(site.known[i]), admitted_facts(tensor)).finite) continue;
    Facts assumed = tensor.assumed;
    assumed.finite = true;
    refuse_fill(tensor, rewrite);
    rewrite.facts.push_back({t, tensor.facts, closed(assumed)});
    rewrite.assumed.push_back(tensor_text(tensor) + " is finite");
  }
}

/// Statements that go give where they come from to those that come instead.
void hand_on_origins(const Site& site, Rewrite& rewrite) {
  for (size_t n = 0; n < rewrite.added.size() && n < rewrite.removed.size(); ++n) {
    rewrite.added[n].from = site.definitions.inlinable(rewrite.removed[n], rewrite.before)->from;
  }
}

}  // namespace

/// An infinite factor gives NaN times 0 where it is multiplied, whatever else it would have been
/// summed with before.
std::string why_not(const Scope& scope, const std::vector<Factor>& factors,
                    const KnownTensors& known) {
  for (const Factor& factor : factors) {
    const Facts facts = known.facts_of(scope, factor.term);
    const bool zero = factor.inverse && !facts.nonzero;
    if (facts.finite && !zero) continue;
    const Term& term = factor.term;
    const std::string what =
        term.expr.kind == Expr::Kind::access ? tensor_text(known.of(term.expr.tensor)) : "a factor";
    return fmt::format("{} may be {}; where it never is, `assume({})` says so", what,
                       facts.finite ? "zero" : "infinite or NaN",
                       facts.finite ? "nonzero" : "finite");
  }
  return "";
}

std::optional<Term> ProductEmitter::run(const Tree& tree, bool below) {
  std::optional<Term> term = emit(tree, below);
  for (const Factor& factor : p_.factors) {
    if (!term || !factor.free.empty()) continue;
    term = apply_term(factor.inverse ? Op::div : Op::mul, {*term, factor.term});
  }
  return term;
}

/// `below`: a sum around it multiplies the term by others, so that a sum of its own has to be an
/// intermediate.
std::optional<Term> ProductEmitter::emit(const Tree& tree, bool below) {
  const bool sums = !tree.over.empty();
  std::optional<Term> body =
      tree.children.empty() ? std::optional(factor(tree).term) : pair(tree, below || sums);
  if (!body || !sums) return body;
  std::vector<IndexId> over, free;
  for (const IndexId index : p_.order()) {
    if (tree.over.contains(index)) over.push_back(index);
  }
  Term sum = sum_term(over, std::move(*body));
  if (!below) {
    has_inner_sum_ =
        has_inner_sum_ || std::popcount(tree.factors) < static_cast<int>(p_.factors.size());
    return sum;
  }
  const std::vector<IndexId> uses = free_indices(sum);
  for (const IndexId index : p_.order()) {
    if (std::find(uses.begin(), uses.end(), index) != uses.end()) free.push_back(index);
  }
  Facts needed;
  needed.finite = true;
  return add_intermediate(scope_, free, sum, origin_, needed, known_, rewrite_);
}

/// The first factor stays in front, as far as division allows.
std::optional<Term> ProductEmitter::pair(const Tree& tree, bool below) {
  const Tree* left = &tree.children[0];
  const Tree* right = &tree.children[1];
  const bool later =
      std::countr_zero(left->factors) > std::countr_zero(right->factors) && !is_inverse(*right);
  if (later || is_inverse(*left)) std::swap(left, right);
  const std::optional<Term> a = emit(*left, below);
  const std::optional<Term> b = a ? emit(*right, below) : std::nullopt;
  if (!b) return std::nullopt;
  return apply_term(is_inverse(*right) ? Op::div : Op::mul, {*a, *b});
}

const Factor& ProductEmitter::factor(const Tree& leaf) const {
  return p_.factors[static_cast<size_t>(std::countr_zero(leaf.factors))];
}

bool ProductEmitter::is_inverse(const Tree& tree) const {
  return tree.children.empty() && factor(tree).inverse;
}

void replace_value(const Site& site, const Statement& statement, const Scope& scope,
                   const Term& value, bool inner_sum, const KnownTensors& known, Rewrite& rewrite) {
  Statement replaced = statement_of(scope, statement.result, statement.result_indices, value);
  replaced.from = statement.from;
  replaced.where = statement.where;
  hand_on_origins(site, rewrite);
  assume_finite(site, rewrite.removed, rewrite);
  rewrite.facts.push_back(facts_after(site, replaced, known, inner_sum, rewrite));
  rewrite.replaced.push_back(std::move(replaced));
}

}  // namespace fuseflow
