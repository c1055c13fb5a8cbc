// Statements for one way to sum a product, and what is known of their values. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewrite/product.h"
#include "rewrite/site.h"

namespace fuseflow {

/// Why sums of products of these factors must not be done otherwise; empty: they may be.
std::string why_not(const Scope& scope, const std::vector<Factor>& factors,
                    const KnownTensors& known);

/// Makes the term of a product for one of its trees. Sums below other sums become intermediates:
/// they are added to `known` and to the rewrite, in the name of the statement `origin`.
class ProductEmitter {
 public:
  ProductEmitter(const Statement& origin, const Scope& scope, const Product& product,
                 KnownTensors& known, Rewrite& rewrite)
      : origin_(origin), scope_(scope), p_(product), known_(known), rewrite_(rewrite) {}

  /// The term of the whole product; nothing where an extent is not known. `below`: there is a sum
  /// around it, so that its own outermost sum becomes an intermediate, too.
  std::optional<Term> run(const Tree& tree, bool below = false);

  /// A sum within the statement itself, which has no tensor that could be known to be finite.
  bool has_inner_sum() const { return has_inner_sum_; }

 private:
  std::optional<Term> emit(const Tree& tree, bool below);
  std::optional<Term> pair(const Tree& tree, bool below);
  const Factor& factor(const Tree& leaf) const;
  bool is_inverse(const Tree& tree) const;

  const Statement& origin_;
  const Scope& scope_;
  const Product& p_;
  KnownTensors& known_;
  Rewrite& rewrite_;
  bool has_inner_sum_ = false;
};

/// The statement gets `value`, whose sums are done otherwise than before. Intermediates that the
/// rewrite adds and removes have to be in it: what is not proved finite of these and of the result
/// is assumed. `inner_sum`: something that has no tensor has to be finite, before or after.
void replace_value(const Site& site, const Statement& statement, const Scope& scope,
                   const Term& value, bool inner_sum, const KnownTensors& known, Rewrite& rewrite);

}  // namespace fuseflow
