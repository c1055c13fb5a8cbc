// Products in another order, and factors taken out of sums.
#include <fmt/format.h>

#include <algorithm>

#include "rewrite/emit.h"

namespace fuseflow {

namespace {

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
  const std::string refused = why_not(scope, product.factors, KnownTensors(site));
  for (const Tree& tree : other_trees(product)) {
    KnownTensors known(site);
    Rewrite rewrite;
    rewrite.reorders = true;
    ProductEmitter emitter(statement, scope, product, known, rewrite);
    const std::optional<Term> term = emitter.run(tree);
    if (!term) continue;
    const bool one_statement = product.inlined.empty() && rewrite.added.empty();
    rewrite.kind = one_statement ? RewriteKind::factor : RewriteKind::reassociate;
    rewrite.refused = refused;
    rewrite.before = statement.result;
    rewrite.removed = product.inlined;
    rewrite.left_out = product.left_out;
    replace_value(site, statement, scope, whole(*term),
                  emitter.has_inner_sum() || product.has_inner_sum, known, rewrite);
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
      const std::optional<Product> product =
          flatten(site_.program, site_.definitions, statement_.result, at, scope);
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
