// Presence: which coordinates of an expression must be visited because its value may differ from
// its fill. Derived from fills and facts by ops/' calculus, never from names or patterns of models.
// Import (formats of results), lowering (joins), reference and estimate all ask here.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// A monotone formula over accesses. `all`: every coordinate; `never`: none; `access`: where the
/// access (a node of the statement) has an entry; `intersection` and `union_` of the children.
/// Simplified: no `all` or `never` below an operator, operators have two or more children.
struct Presence {
  enum class Kind : uint8_t { all, never, access, intersection, union_ } kind = Kind::all;
  int32_t node = -1;
  std::vector<Presence> children;
  bool operator==(const Presence&) const = default;
};

/// What is known of one expression node.
/// `fill`: its value wherever `presence` does not hold (none: presence is `all`).
struct NodeSparsity {
  std::optional<float> fill;
  Facts facts;  ///< of every value it takes
  Presence presence;
};

/// Whether entries of the tensor may be absent along its dimension `dim`. The default reads the
/// format (compressed, singleton and bitvector levels); lowering passes what its streams deliver.
using AbsentAlong = std::function<bool(const Expr& access, int dim)>;
bool format_allows_absence(const Tensor& tensor, int dim);

/// A lower bound of a reduction (a node of the statement) beyond what the facts of its body tell,
/// -inf if there is none; `below`: what is known of the nodes before it. See ir/fiber_bounds.h.
using ReductionBound = std::function<float(const Statement& statement, const Expr& reduction,
                                           const std::vector<NodeSparsity>& below)>;

/// One entry per node of the statement, same order.
std::vector<NodeSparsity> analyse(const Program& program, const Statement& statement,
                                  const AbsentAlong& absent = {}, const ReductionBound& bound = {});

/// Whether statements compute less where entries of a tensor are absent than if it were stored
/// dense: they multiply by it, or read nothing else. A bias that is added saves nothing.
bool absence_saves_work(const Program& program, TensorId tensor);

/// The formula as a loop over `index` sees it: an access counts only if one of its subscripts
/// contains the index and entries may be absent along that dimension; every other access is
/// everywhere. `never` can only come from a root that is constant.
Presence along(const Presence& presence, const Program& program, const Statement& statement,
               IndexId index, const AbsentAlong& absent = {});

/// What the result of a statement is, if its format lets entries be absent: the fill, the facts
/// and, per dimension of the result, whether coordinates may be skipped.
struct ResultSparsity {
  std::optional<float> fill;
  Facts facts;
  std::vector<bool> absent_along;
};
ResultSparsity infer_result(const Program& program, const Statement& statement,
                            const AbsentAlong& absent = {}, const ReductionBound& bound = {});

/// What a reduction of `count` equal entries `fill` gives, and facts of a reduction's results
/// (a negative count: not known).
float reduced_fill(Reduction reduction, float fill, double count);
Facts reduced_facts(Reduction reduction, const Facts& body, double count);

/// Whether a reduction may leave out absent entries of its body, which have the value `fill`.
bool may_leave_out(Reduction reduction, float fill, const Facts& body);

/// `facts` and `assumed` of a tensor together.
Facts admitted_facts(const Tensor& tensor);

}  // namespace fuseflow
