// Products of many factors under sums, flattened: `sum(f) (sum(k) a[i, k] * x[k, f]) * w[f, h]` is
// the product of a, x and w summed over k and f, in whatever order that is done. Reference:
// ir-spec/rewrite.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ir/term.h"

namespace fuseflow {

/// Products of more factors with indices are not flattened: the number of orders grows like the
/// square of the factorial.
inline constexpr size_t kMostFactors = 4;

using FactorSet = uint32_t;  ///< bit f: factor f

struct Factor {
  Term term;
  bool inverse = false;  ///< the product is divided by it
  std::vector<IndexId> free;
};

/// That the product of some factors is summed over some indices.
struct SumStep {
  FactorSet factors = 0;
  std::set<IndexId> over;
  auto operator<=>(const SumStep&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

struct Product {
  std::vector<Factor> factors;
  std::vector<SumStep> given;          ///< how it is summed as written, inner sums first
  std::vector<TensorId> inlined;       ///< intermediates whose statements are part of it
  std::vector<TensorId> left_out;      ///< that could be, but for the number of factors
  bool too_many = false;               ///< factors of the statement itself: no order is looked for
  bool has_inner_sum = false;          ///< as written; of these, sums that no tensor holds
  std::vector<IndexId> order() const;  ///< free indices of all factors, by first use
};

/// Binary products of the factors with indices, each sum done as soon as all factors with its index
/// are together. Factors without indices are left out: they go outside of all sums.
struct Tree {
  FactorSet factors = 0;
  std::set<IndexId> over;      ///< summed here
  std::vector<Tree> children;  ///< none: a factor; else two
};

/// What statements define, and which version of a tensor a statement reads.
class Definitions {
 public:
  explicit Definitions(const Program& program);
  /// The statement of an intermediate that the statement of `reader` may take in: the intermediate
  /// has one use, a region without a graph, and a type that only rounds, and all operands are the
  /// same values in both statements; else null.
  const Statement* inlinable(TensorId tensor, TensorId reader) const;
  /// Whether the statement of `reader` is in the region that computes a tensor of a narrow type:
  /// what it reads of it is not rounded, as it is for others (ir-spec/language.md, "Element
  /// types").
  bool reads_stream(TensorId tensor, TensorId reader) const;
  /// Accesses in all statements of regions.
  int uses(TensorId tensor) const { return uses_[static_cast<size_t>(tensor)]; }

 private:
  std::vector<const Statement*> definition_;
  std::vector<int> uses_;
  std::vector<int> region_;   ///< that computes it; -1: none
  std::vector<bool> narrow_;  ///< its type does not hold every f32
};

/// What an access reads of an intermediate that `definition` defines, with fresh indices in
/// `scope`. Nothing where its subscripts are not plain indices that run over just the tensor's
/// extents: elsewhere its fill would be read.
std::optional<Term> substituted(const Program& program, const Term& access,
                                const Statement& definition, Scope& scope);

/// The product that a term is, statements of intermediates taken in: all, or where that would be
/// too many factors, those nearest to the statement. Nothing where it is no product with a sum, or
/// an index that is summed is in no factor. `reader`: the result of the statement.
std::optional<Product> flatten(const Program& program, const Definitions& definitions,
                               TensorId reader, const Term& term, Scope& scope);

/// All trees of the product, one of each way to sum.
std::vector<Tree> all_trees(const Product& product);

/// Those that sum otherwise than the product as it is written.
std::vector<Tree> other_trees(const Product& product);

}  // namespace fuseflow
