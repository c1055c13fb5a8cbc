// What the rules of rewriting share: where they look, names and storage of new tensors. Internal.
#pragma once

#include "rewrite/product.h"
#include "rewrite/rewrite.h"

namespace fuseflow {

/// A program in which rewrites are looked for.
struct Site {
  const Program& program;
  const std::vector<Tensor>& known;  ///< of the program's tensors: what may be taken as proved
  const Definitions& definitions;
};

/// Adds a new intermediate and the statement that defines it to the rewrite, named after `origin`;
/// gives the term that reads it. Nothing where an extent is not known. `known` gets the tensor.
/// What is `needed` of it and not proved is assumed.
std::optional<Term> add_intermediate(const Scope& scope, const std::vector<IndexId>& indices,
                                     const Term& value, const Statement& origin,
                                     const Facts& needed, std::vector<Tensor>& known,
                                     Rewrite& rewrite);

/// Facts of every value of a term, tensors being as `known`.
Facts facts_of_term(const Scope& scope, const Term& term, const std::vector<Tensor>& known);

/// The facts but for the range, which is seldom tight, and which other rounding may leave.
Facts without_range(const Facts& facts);

void find_products(const Site& site, const Statement& statement, std::vector<Rewrite>& found);
void find_hoists(const Site& site, const Statement& statement, std::vector<Rewrite>& found);
void find_common(const Site& site, std::vector<Rewrite>& found);

}  // namespace fuseflow
