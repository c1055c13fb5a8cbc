#include "import/finish/fully_masked_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "import/finish/finite_masks.h"
#include "import/finish/mask_sums.h"
#include "import/finish/masks.h"
#include "import/values/constant_stats.h"
#include "ir/reads.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The statements of one softmax: reads of its scores, and what is made of them.
struct Softmax {
  TensorId scores = -1;
  size_t maximum = 0;
  size_t sum = 0;
  size_t result = 0;
  bool exponential = false;  ///< alone uses the scores, by their exponentials: no LogSoftmax
};

bool is_reduction(const Statement& s, Reduction reduction) {
  return s.root().kind == Expr::Kind::reduce && s.root().reduction == reduction &&
         s.nodes.size() == 2 && s.nodes[0].kind == Expr::Kind::access;
}

/// The maximum of a softmax along an axis of one element: the score itself.
bool is_single_maximum(const DraftProgram& draft, const Statement& s) {
  return s.nodes.size() == 1 && s.nodes[0].kind == Expr::Kind::access &&
         std::any_of(draft.tensors.begin(), draft.tensors.end(),
                     [&](const Draft& d) { return d.nonzero_if == s.result; });
}

/// The softmax (or its logarithm) that begins with the maximum in statement `m`.
std::optional<Softmax> softmax_at(const DraftProgram& draft, size_t m) {
  const Statement& maximum = draft.statements[m].statement;
  if (!is_reduction(maximum, Reduction::max)) return std::nullopt;
  Softmax found{maximum.nodes[0].tensor, m, 0, 0, true};
  bool shifted = false;
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const Statement& statement = draft.statements[s].statement;
    const bool uses = s != m && reads(statement, found.scores);
    if (uses) found.exponential = found.exponential && statement.root().op == Op::exp;
    if (draft.statements[s].group != draft.statements[m].group || s <= m) {
      if (uses) found.exponential = false;
      continue;
    }
    shifted = shifted || (uses && reads(statement, maximum.result));
    if (is_reduction(statement, Reduction::sum)) found.sum = s;
    found.result = s;
  }
  if (!shifted || found.sum == 0 || found.result == found.sum) return std::nullopt;
  return found;
}

/// Which dimension of the scores each index of the softmax's statements runs over.
class ScoreDims {
 public:
  ScoreDims(const DraftProgram& draft, const Softmax& softmax) : draft_(draft) {
    const auto rank = draft.tensors[static_cast<size_t>(softmax.scores)].shape.size();
    for (size_t d = 0; d < rank; ++d) of_[softmax.scores].push_back(static_cast<int>(d));
    for (size_t s = softmax.maximum; s <= softmax.result; ++s) {
      if (draft.statements[s].group == draft.statements[softmax.maximum].group)
        visit(draft.statements[s].statement);
    }
  }

  /// The index of statement `s` over dimension `dim` of the scores; -1 if it has none.
  IndexId index(const Statement& s, int dim) const {
    for (const Expr& e : s.nodes) {
      if (e.kind != Expr::Kind::access || !of_.contains(e.tensor)) continue;
      const std::vector<int>& dims = of_.at(e.tensor);
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == dim && e.subscripts[d].is_plain()) return e.subscripts[d].plain();
      }
    }
    return -1;
  }

 private:
  void visit(const Statement& s) {
    const auto rank = draft_.tensors[static_cast<size_t>(s.result)].shape.size();
    std::vector<int> dims(rank, -1);
    const int scores_rank = static_cast<int>(of_.begin()->second.size());
    for (int dim = 0; dim < scores_rank; ++dim) {
      const IndexId i = index(s, dim);
      const auto at = std::find(s.result_indices.begin(), s.result_indices.end(), i);
      if (i >= 0 && at != s.result_indices.end())
        dims[static_cast<size_t>(at - s.result_indices.begin())] = dim;
    }
    of_[s.result] = std::move(dims);
  }

  const DraftProgram& draft_;
  std::map<TensorId, std::vector<int>> of_;
};

/// Facts that hold if no finite number overflows and everything that is not known is finite.
void expect_finite(DraftProgram& draft) {
  draft.expected.assign(draft.tensors.size(), Facts{true, true, false, false, true});
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    Draft& d = draft.tensors[t];
    if (d.tensor.role == Role::input) draft.expected[t] = d.tensor.facts;
    if (!d.data) continue;
    d.tensor.facts = facts_of(*d.data);
    draft.expected[t] = d.tensor.facts;
  }
}

/// Marks the inputs that a value is computed from: the constants found depend on their data.
void mark_inputs(DraftProgram& draft, TensorId tensor, std::set<TensorId>& seen) {
  if (!seen.insert(tensor).second) return;
  const Draft& d = draft.tensors[static_cast<size_t>(tensor)];
  if (d.tensor.role == Role::input) {
    for (InputUse& input : draft.inputs) input.constant |= input.name == d.tensor.name;
    return;
  }
  for (const DraftStatement& made : draft.statements) {
    if (made.statement.result != tensor) continue;
    for (const Expr& e : made.statement.nodes) {
      if (e.kind == Expr::Kind::access) mark_inputs(draft, e.tensor, seen);
    }
  }
}

std::string unused_tensor_name(const DraftProgram& draft, const std::string& wanted) {
  return unused_name(wanted, ".", 1, [&](const std::string& name) {
    return std::any_of(draft.tensors.begin(), draft.tensors.end(),
                       [&](const Draft& d) { return d.tensor.name == name; });
  });
}

ConstantPtr bits(const std::vector<int64_t>& positions, std::vector<int64_t> shape) {
  std::vector<std::pair<int64_t, float>> entries;
  entries.reserve(positions.size());
  for (const int64_t p : positions) entries.emplace_back(p, 1.0F);
  return constant_sparse(std::move(entries), std::move(shape), ElementType::boolean);
}

/// Every entry of the fully masked rows: the matrix over `dims`, of which `over` are the rows' own.
ConstantPtr entries_of(const RowScan& scan, const std::vector<IndexId>& indices,
                       const std::vector<int64_t>& shape) {
  constexpr int64_t kMaxEntries = int64_t{1} << 26;
  std::vector<int64_t> positions;
  std::vector<int64_t> at(shape.size(), 0);
  const int64_t size = element_count(shape);
  if (size > int64_t{1} << 28) return nullptr;
  for (int64_t n = 0; n < size; ++n) {
    int64_t row = 0;
    for (size_t r = 0; r < scan.rows.size(); ++r) {
      const auto d = std::find(indices.begin(), indices.end(), scan.rows[r]) - indices.begin();
      row = row * scan.extents[r] + at[static_cast<size_t>(d)];
    }
    if (!scan.open[static_cast<size_t>(row)]) positions.push_back(n);
    for (size_t k = shape.size(); k-- > 0;) {
      if (++at[k] < shape[k]) break;
      at[k] = 0;
    }
  }
  if (static_cast<int64_t>(positions.size()) > kMaxEntries) return nullptr;
  return bits(positions, shape);
}

using RowConditions = std::vector<MaskCondition>;

/// RowConditions over dimensions of the scores, as conditions over the indices of the maximum.
bool over_maximum(const DraftProgram& draft, const Statement& maximum, RowConditions& conditions) {
  const Expr& scores = maximum.nodes[0];
  const std::vector<int64_t>& shape = draft.tensors[static_cast<size_t>(scores.tensor)].shape;
  for (MaskCondition& c : conditions) {
    for (IndexId& index : c.indices) {
      if (index < 0) return false;
      const auto d = static_cast<size_t>(index);
      if (!scores.subscripts[d].is_plain()) return false;
      index = scores.subscripts[d].plain();
      if (maximum.indices[static_cast<size_t>(index)].extent > shape[d]) return false;
    }
  }
  return true;
}

/// The conditions under which all masks are open, over dimensions of the scores. (A row that is
/// closed by finite masks keeps its numbers, whatever they are.)
std::optional<MaskConditions> all_open(const DraftProgram& draft,
                                       const std::vector<FiniteMask>& masks) {
  MaskConditions result;
  RowConditions& all = result.all;
  for (const FiniteMask& mask : masks) {
    for (const DraftStatement& made : draft.statements) {
      if (made.statement.result != mask.value) continue;
      auto over = over_result(made.statement, {mask.open});
      if (!over) return std::nullopt;
      for (IndexId& index : (*over)[0].indices) index = mask.dims[static_cast<size_t>(index)];
      all.push_back((*over)[0]);
    }
  }
  return result;
}

/// The two constants of the rows that are fully masked; nothing if they would be too large.
std::optional<FullyMaskedRows> closed_rows(const DraftProgram& draft, const Statement& maximum,
                                           const RowScan& scan) {
  FullyMaskedRows rows;
  rows.maximum = maximum.result;
  std::vector<IndexId> indices;
  std::vector<int64_t> shape;
  std::vector<IndexId> vector_indices;
  for (size_t d = 0; d < maximum.nodes[0].subscripts.size(); ++d) {
    const Subscript& s = maximum.nodes[0].subscripts[d];
    if (!s.is_plain()) continue;
    const IndexId index = s.plain();
    const auto& over = maximum.root().over;
    const bool row = std::find(scan.rows.begin(), scan.rows.end(), index) != scan.rows.end();
    const bool inner = std::find(over.begin(), over.end(), index) != over.end();
    if (!row && !inner) continue;
    indices.push_back(index);
    shape.push_back(maximum.indices[static_cast<size_t>(index)].extent);
    rows.matrix_dims.push_back(static_cast<int>(d));
    if (row) rows.vector_dims.push_back(static_cast<int>(d));
    if (row) vector_indices.push_back(index);
  }
  rows.matrix = entries_of(scan, indices, shape);
  if (!rows.matrix) return std::nullopt;
  std::vector<int64_t> extents;
  extents.reserve(vector_indices.size());
  for (const IndexId i : vector_indices)
    extents.push_back(maximum.indices[static_cast<size_t>(i)].extent);
  rows.vector = entries_of(scan, vector_indices, extents);
  std::string base = draft.tensors[static_cast<size_t>(maximum.result)].tensor.name;
  if (base.ends_with(".max")) base.resize(base.size() - 4);
  rows.vector_name = unused_tensor_name(draft, base + ".closed");
  rows.matrix_name = unused_tensor_name(draft, base + ".closed_rows");
  return rows;
}

/// What the masks of one softmax are: large finite numbers or -inf, and which rows they close.
void find_masks(DraftProgram& draft, MaskSums& sums, const Softmax& softmax) {
  const Statement& maximum = draft.statements[softmax.maximum].statement;
  auto conditions = draft.tensors[static_cast<size_t>(softmax.scores)].finite_where;
  FiniteMasks finite;
  if (!conditions && softmax.exponential) {
    finite = finite_masks_before(draft, softmax.scores);
    conditions = all_open(draft, finite.masks);
  }
  if (!conditions || conditions->all.empty()) return;
  RowConditions open = conditions->all;
  if (!over_maximum(draft, maximum, open)) return;
  const auto scan = scan_rows(draft, maximum, maximum.root().over, open);
  if (!scan) return;
  const auto closed = std::count(scan->open.begin(), scan->open.end(), false);
  if (closed == static_cast<int64_t>(scan->open.size())) return;
  if (!finite.masks.empty() && !sums.open_rows_meet(maximum, *scan, least_maximum(finite.masks)))
    return;
  if (closed > 0) {
    if (!conditions->absent_elsewhere) return;
    auto rows = closed_rows(draft, maximum, *scan);
    if (!rows) return;
    rows->conditions = conditions->all;
    draft.closed_rows.push_back(std::move(*rows));
    std::set<TensorId> seen;
    for (const MaskCondition& c : conditions->all) mark_inputs(draft, c.mask, seen);
    for (const TensorId data : finite.data) mark_inputs(draft, data, seen);
  }
  for (FiniteMask& mask : finite.masks) {
    mask.maximum = maximum.result;
    draft.finite_masks.push_back(std::move(mask));
  }
}

/// Once for several masks of one softmax.
TensorId add_constant(DraftProgram& draft, const std::string& name, const ConstantPtr& data) {
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    if (draft.tensors[t].data == data) return static_cast<TensorId>(t);
  }
  Draft made;
  made.tensor.name = name;
  made.tensor.role = Role::constant;
  made.tensor.type = data->type;
  made.shape = data->shape;
  made.data = data;
  draft.tensors.push_back(std::move(made));
  return static_cast<TensorId>(draft.tensors.size()) - 1;
}

/// Replaces the value of `s` by where(bits, value, what it was).
void select(Statement& s, Expr bits, float value) {
  const auto root = static_cast<int32_t>(s.nodes.size()) - 1;
  Expr literal;
  literal.constant = value;
  Expr where;
  where.kind = Expr::Kind::apply;
  where.op = Op::where;
  where.children = {root + 1, root + 2, root};
  s.nodes.push_back(std::move(bits));
  s.nodes.push_back(literal);
  s.nodes.push_back(std::move(where));
}

}  // namespace

void find_fully_masked_rows(DraftProgram& draft) {
  expect_finite(draft);
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const Statement& statement = draft.statements[s].statement;
    keep_known_values(draft, statement);
    const auto id = static_cast<size_t>(statement.result);
    // A sum of masks whose values are known may be -inf.
    if (const ConstantPtr& kept = draft.tensors[id].values) draft.expected[id] = facts_of(*kept);
    auto open = result_finite_where(draft, statement);
    if (!open || open->all.empty()) continue;
    draft.tensors[id].finite_where = std::move(open);
    if (!draft.tensors[id].values) draft.expected[id] = Facts{};
  }
  MaskSums sums(draft);
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const Statement& maximum = draft.statements[s].statement;
    if (!is_single_maximum(draft, maximum)) continue;
    Draft& scores = draft.tensors[static_cast<size_t>(maximum.nodes[0].tensor)];
    scores.overflow = std::max(scores.overflow, sums.overflow(maximum));
  }
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const auto softmax = softmax_at(draft, s);
    if (!softmax) continue;
    Draft& scores = draft.tensors[static_cast<size_t>(softmax->scores)];
    scores.overflow =
        std::max(scores.overflow, sums.overflow(draft.statements[softmax->maximum].statement));
    if (scores.overflow != MaskOverflow::rows) find_masks(draft, sums, *softmax);
  }
  for (Draft& d : draft.tensors) d.finite_where.reset();
  draft.expected.clear();
}

const FullyMaskedRows* fully_masked_rows_of(const DraftProgram& draft, TensorId maximum) {
  for (const FullyMaskedRows& rows : draft.closed_rows) {
    if (rows.maximum == maximum) return &rows;
  }
  return nullptr;
}

TensorId add_fully_masked_vector(DraftProgram& draft, const FullyMaskedRows& rows) {
  return add_constant(draft, rows.vector_name, rows.vector);
}

TensorId add_fully_masked_matrix(DraftProgram& draft, const FullyMaskedRows& rows) {
  return add_constant(draft, rows.matrix_name, rows.matrix);
}

bool guard_fully_masked_rows(const Program& program, DraftProgram& draft, size_t maximum) {
  const auto softmax = softmax_at(draft, maximum);
  if (!softmax) return false;
  const FullyMaskedRows* found =
      fully_masked_rows_of(draft, draft.statements[softmax->maximum].statement.result);
  if (found == nullptr) return false;
  const Tensor& scores = program.tensors[static_cast<size_t>(softmax->scores)];
  const bool sparse = !scores.format.all_dense() && scores.fill == -kInfinite;
  Draft& known = draft.tensors[static_cast<size_t>(softmax->scores)];
  const bool finite = std::any_of(draft.finite_masks.begin(), draft.finite_masks.end(),
                                  [&](const FiniteMask& m) { return m.maximum == found->maximum; });
  if (!sparse || finite || !known.finite_where) return false;
  const RowConditions& needed =
      known.finite_where->all;  // more if what was taken for finite is not
  const bool same = std::all_of(needed.begin(), needed.end(), [&](const MaskCondition& c) {
    return std::find(found->conditions.begin(), found->conditions.end(), c) !=
           found->conditions.end();
  });
  if (!same) return false;
  known.rows_finite = true;
  const FullyMaskedRows rows = *found;
  const ScoreDims dims(draft, *softmax);
  const TensorId vector = add_fully_masked_vector(draft, rows);
  const TensorId matrix = add_fully_masked_matrix(draft, rows);
  const auto access = [&](const Statement& s, TensorId tensor, const std::vector<int>& over) {
    Expr e;
    e.kind = Expr::Kind::access;
    e.tensor = tensor;
    for (const int dim : over) e.subscripts.push_back(Subscript{{{dims.index(s, dim), 1}}, 0});
    return e;
  };
  Statement& top = draft.statements[softmax->maximum].statement;
  select(top, access(top, vector, rows.vector_dims), 0);
  Statement& sum = draft.statements[softmax->sum].statement;
  select(sum, access(sum, vector, rows.vector_dims), 1);
  Statement& result = draft.statements[softmax->result].statement;
  select(result, access(result, matrix, rows.matrix_dims), kNaN);
  return true;
}

}  // namespace fuseflow
