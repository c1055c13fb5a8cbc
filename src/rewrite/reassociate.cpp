// Products in another order, and factors taken out of sums.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "rewrite/site.h"

namespace fuseflow {

namespace {

std::string tensor_text(const Tensor& tensor) {
  return "%" + quote_if_needed(tensor.name);
}

/// Why sums of the product must not be done otherwise; empty: they may be. An infinite factor gives
/// NaN times 0 where it is multiplied, whatever else it would have been summed with before.
std::string why_not(const Scope& scope, const Product& product, const KnownTensors& known) {
  for (const Factor& factor : product.factors) {
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

/// Statements for one tree of a product.
class Emitter {
 public:
  Emitter(const Site& site, const Statement& statement, const Scope& scope, const Product& product)
      : statement_(statement), scope_(scope), p_(product), known_(site) {}

  Rewrite rewrite;

  /// The term of the whole product; nothing where an extent is not known.
  std::optional<Term> run(const Tree& tree) {
    std::optional<Term> term = emit(tree, false);
    for (const Factor& factor : p_.factors) {
      if (!term || !factor.free.empty()) continue;
      term = apply_term(factor.inverse ? Op::div : Op::mul, {*term, factor.term});
    }
    return term;
  }

  /// A sum within the statement itself, which has no tensor that could be known to be finite.
  bool has_inner_sum() const { return has_inner_sum_; }
  const KnownTensors& known() const { return known_; }

 private:
  /// `below`: a sum around it multiplies the term by others, so that a sum of its own has to be an
  /// intermediate.
  std::optional<Term> emit(const Tree& tree, bool below) {
    const bool sums = !tree.over.empty();
    std::optional<Term> body = tree.children.empty() ? factor(tree) : pair(tree, below || sums);
    if (!body || !sums) return body;
    std::vector<IndexId> over, free;
    for (const IndexId index : p_.order()) {
      if (tree.over.contains(index)) over.push_back(index);
    }
    Term sum = sum_term(over, std::move(*body));
    if (!below) {
      has_inner_sum_ = has_inner_sum_ || std::popcount(tree.factors) < factors();
      return sum;
    }
    const std::vector<IndexId> uses = free_indices(sum);
    for (const IndexId index : p_.order()) {
      if (std::find(uses.begin(), uses.end(), index) != uses.end()) free.push_back(index);
    }
    Facts needed;
    needed.finite = true;
    return add_intermediate(scope_, free, sum, statement_, needed, known_, rewrite);
  }

  int factors() const { return static_cast<int>(p_.factors.size()); }

  std::optional<Term> factor(const Tree& tree) const {
    return p_.factors[static_cast<size_t>(std::countr_zero(tree.factors))].term;
  }

  bool is_inverse(const Tree& tree) const {
    return tree.children.empty() &&
           p_.factors[static_cast<size_t>(std::countr_zero(tree.factors))].inverse;
  }

  /// The first factor stays in front, as far as division allows.
  std::optional<Term> pair(const Tree& tree, bool below) {
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

  const Statement& statement_;
  const Scope& scope_;
  const Product& p_;
  KnownTensors known_;
  bool has_inner_sum_ = false;
};

/// What is known of the result when its sums are done otherwise: what the new statement proves;
/// what else was known before is taken for granted, but for ranges, which rounding may leave.
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
    rewrite.facts.push_back({t, tensor.facts, closed(assumed)});
    rewrite.assumed.push_back(tensor_text(tensor) + " is finite");
  }
}

/// Statements that go give where they come from to those that come instead.
void hand_on_origins(const Site& site, Rewrite& rewrite) {
  for (size_t n = 0; n < rewrite.added.size() && n < rewrite.removed.size(); ++n) {
    rewrite.added[n].from = site.definitions.inlinable(rewrite.removed[n])->from;
  }
}

/// What is said of a product in which no order is looked for.
Rewrite too_many_factors(const Statement& statement, const Product& product) {
  const auto& all = product.factors;
  const auto factors =
      std::count_if(all.begin(), all.end(), [](const Factor& f) { return !f.free.empty(); });
  Rewrite rewrite;
  rewrite.reorders = true;
  rewrite.refused = fmt::format(
      "a product of {} factors in one statement, expected at most {}; a statement for some of them "
      "lets the others be put into another order",
      factors, kMostFactors);
  rewrite.before = statement.result;
  rewrite.replaced.push_back(statement);
  rewrite.left_out = product.left_out;
  return rewrite;
}

/// The rewrites of one product in a statement's expression; `whole(term)`: the expression with
/// `term` for the product.
template <typename Whole>
void add_rewrites(const Site& site, const Statement& statement, const Scope& scope,
                  const Product& product, const Whole& whole, std::vector<Rewrite>& found) {
  const std::string refused = why_not(scope, product, KnownTensors(site));
  for (const Tree& tree : other_trees(product)) {
    Emitter emitter(site, statement, scope, product);
    const std::optional<Term> term = emitter.run(tree);
    if (!term) continue;
    Rewrite& rewrite = emitter.rewrite;
    const bool one_statement = product.inlined.empty() && rewrite.added.empty();
    rewrite.kind = one_statement ? RewriteKind::factor : RewriteKind::reassociate;
    rewrite.reorders = true;
    rewrite.refused = refused;
    rewrite.before = statement.result;
    rewrite.removed = product.inlined;
    rewrite.left_out = product.left_out;
    Statement replaced =
        statement_of(scope, statement.result, statement.result_indices, whole(*term));
    replaced.from = statement.from;
    replaced.where = statement.where;
    hand_on_origins(site, rewrite);
    assume_finite(site, product.inlined, rewrite);
    rewrite.facts.push_back(facts_after(site, replaced, emitter.known(),
                                        emitter.has_inner_sum() || product.has_inner_sum, rewrite));
    rewrite.replaced.push_back(std::move(replaced));
    found.push_back(std::move(rewrite));
  }
}

bool is_product(const Term& term) {
  if (term.expr.kind == Expr::Kind::reduce) return term.expr.reduction == Reduction::sum;
  return term.expr.kind == Expr::Kind::apply &&
         (term.expr.op == Op::mul || term.expr.op == Op::div);
}

/// Finds the largest products in an expression and rewrites each.
class ProductFinder {
 public:
  ProductFinder(const Site& site, const Statement& statement, std::vector<Rewrite>& found)
      : site_(site), statement_(statement), found_(found) {
    places_ = add_indices(site.program, statement, scope_);
    root_ = term_at(statement, static_cast<int32_t>(statement.nodes.size()) - 1, places_);
  }

  /// A product of too many factors is said to be one where no part of it can be rewritten.
  void run() {
    const size_t before = found_.size();
    visit(root_);
    if (too_many_ && found_.size() == before) {
      found_.push_back(too_many_factors(statement_, *too_many_));
    }
  }

 private:
  void visit(Term& at) {
    if (is_product(at)) {
      Scope scope = scope_;
      const std::optional<Product> product = flatten(site_.program, site_.definitions, at, scope);
      if (product && product->too_many) {
        if (!too_many_) too_many_ = product;
      } else if (product) {
        const Term given = at;
        const auto whole = [&](const Term& term) {
          at = term;
          return root_;
        };
        add_rewrites(site_, statement_, scope, *product, whole, found_);
        at = given;
        return visit_below(at);
      }
    }
    for (Term& child : at.children) visit(child);
  }

  /// Factors of a product are not products of their own, but may hold some.
  void visit_below(Term& at) {
    if (!is_product(at)) return visit(at);
    const bool divides = at.expr.kind == Expr::Kind::apply && at.expr.op == Op::div;
    visit_below(at.children[0]);
    if (at.children.size() < 2) return;
    divides ? visit(at.children[1]) : visit_below(at.children[1]);
  }

  const Site& site_;
  const Statement& statement_;
  std::vector<Rewrite>& found_;
  Scope scope_;
  std::vector<IndexId> places_;
  Term root_;
  std::optional<Product> too_many_;  ///< the first product of too many factors
};

}  // namespace

void find_products(const Site& site, const Statement& statement, std::vector<Rewrite>& found) {
  ProductFinder(site, statement, found).run();
}

}  // namespace fuseflow
