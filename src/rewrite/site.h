// What the rules of rewriting share: where they look, names and storage of new tensors. Internal.
#pragma once

#include <set>
#include <string>

#include "ir/sparsity.h"
#include "rewrite/product.h"
#include "rewrite/rewrite.h"

namespace fuseflow {

/// A program in which rewrites are looked for.
struct Site {
  const Program& program;
  const std::vector<Tensor>& known;  ///< of the program's tensors: what may be taken as proved
  const Definitions& definitions;
  std::set<std::string, std::less<>> names;  ///< of the program's tensors
};

/// Tensors of a site, and those that one rewrite adds: asked about one statement at a time, so that
/// it costs nothing how many there are.
class KnownTensors {
 public:
  explicit KnownTensors(const Site& site) : site_(site) {}

  const Tensor& of(TensorId tensor) const;
  TensorId add(Tensor tensor);  ///< gives its id
  bool has_name(const std::string& name) const;
  /// The type of the values that the statement of `reader` reads of a tensor: f32 where they are
  /// not, or not surely, rounded to a narrower one.
  ElementType type_read(TensorId tensor, TensorId reader) const;
  ResultSparsity infer(const Statement& statement) const;
  Facts facts_of(const Scope& scope, const Term& term) const;

 private:
  /// The statement with the tensors that it reads, alone.
  Program alone(Statement& statement) const;

  const Site& site_;
  std::vector<Tensor> added_;
};

/// Adds a new intermediate and the statement that defines it to the rewrite, named after `origin`;
/// gives the term that reads it. Nothing where an extent is not known. `known` gets the tensor. A
/// rewrite that reorders may round, and no other.
/// What is `needed` of it and not proved is assumed.
std::optional<Term> add_intermediate(const Scope& scope, const std::vector<IndexId>& indices,
                                     const Term& value, const Statement& origin,
                                     const Facts& needed, KnownTensors& known, Rewrite& rewrite);

/// The facts but for the range, which is seldom tight, and which other rounding may leave.
Facts without_range(const Facts& facts);

void find_products(const Site& site, const Statement& statement, std::vector<Rewrite>& found);
void find_collections(const Site& site, const Statement& statement, std::vector<Rewrite>& found);
void find_hoists(const Site& site, const Statement& statement, std::vector<Rewrite>& found);
void find_common(const Site& site, std::vector<Rewrite>& found);

}  // namespace fuseflow
