// Conditions on masks, and whether they leave every row open.
#include "import/finish/masks.h"

#include "import/values/evaluate.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fuseflow {

namespace {

using Conditions = std::optional<std::vector<MaskCondition>>;

const ConstantTensor* values_of(const DraftProgram& draft, TensorId tensor) {
  const Draft& d = draft.tensors[static_cast<size_t>(tensor)];
  return d.data ? d.data.get() : d.values.get();
}

/// The condition that the mask read by `access` holds; nothing unless its values are known.
Conditions mask_condition(const DraftProgram& draft, const Expr& access, MaskCondition::Kind kind,
                          float threshold = 0) {
  if (access.kind != Expr::Kind::access || values_of(draft, access.tensor) == nullptr)
    return std::nullopt;
  MaskCondition condition{access.tensor, kind, {}, threshold};
  for (const Subscript& s : access.subscripts) {
    if (!s.is_plain()) return std::nullopt;
    condition.indices.push_back(s.plain());
  }
  return std::vector<MaskCondition>{std::move(condition)};
}

/// The condition that the first operand of a `where` is non-zero: a mask, or a mask compared with a
/// number.
Conditions chosen(const DraftProgram& draft, const Statement& s, const Expr& mask, bool nonzero) {
  if (mask.kind == Expr::Kind::access) {
    return mask_condition(draft, mask,
                          nonzero ? MaskCondition::Kind::nonzero : MaskCondition::Kind::zero);
  }
  if (mask.kind != Expr::Kind::apply || !nonzero || (mask.op != Op::gt && mask.op != Op::lt)) {
    return std::nullopt;
  }
  const Expr& bound = s.nodes[static_cast<size_t>(mask.children[1])];
  if (bound.kind != Expr::Kind::constant) return std::nullopt;
  return mask_condition(draft, s.nodes[static_cast<size_t>(mask.children[0])],
                        mask.op == Op::gt ? MaskCondition::Kind::above : MaskCondition::Kind::below,
                        bound.constant);
}

Conditions joined(Conditions a, const Conditions& b) {
  if (!a || !b) return std::nullopt;
  a->insert(a->end(), b->begin(), b->end());
  return a;
}

bool keeps_finite(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::max:
    case Op::min:
    case Op::tanh:
    case Op::sigmoid:
    case Op::exp:
    case Op::leaky_relu:
    case Op::elu:
    case Op::f16:
    case Op::bf16:
      return true;
    default:
      return false;
  }
}

/// An access to an intermediate: its own conditions, over this statement's indices.
Conditions inherited(const DraftProgram& draft, const Expr& access) {
  const auto& known = draft.tensors[static_cast<size_t>(access.tensor)].finite_where;
  if (!known) return std::nullopt;
  std::vector<MaskCondition> result = *known;
  for (MaskCondition& condition : result) {
    for (IndexId& index : condition.indices) {
      const Subscript& s = access.subscripts[static_cast<size_t>(index)];
      if (!s.is_plain()) return std::nullopt;
      index = s.plain();
    }
  }
  return result;
}

bool holds(const ConstantTensor& values, int64_t at, MaskCondition::Kind kind, float threshold) {
  const float v = values.as_float(at);
  switch (kind) {
    case MaskCondition::Kind::nonzero:
      return v != 0;
    case MaskCondition::Kind::zero:
      return v == 0;
    case MaskCondition::Kind::finite:
      return std::isfinite(v);
    case MaskCondition::Kind::above:
      return v > threshold;
    case MaskCondition::Kind::below:
      return v < threshold;
  }
  return false;
}

/// Whether the condition holds where the statement's indices have the values `at`.
bool holds_at(const DraftProgram& draft, const MaskCondition& c, const std::vector<int64_t>& at) {
  int64_t position = 0;
  const auto& shape = draft.tensors[static_cast<size_t>(c.mask)].shape;
  for (size_t d = 0; d < shape.size(); ++d)
    position = position * shape[d] + at[static_cast<size_t>(c.indices[d])];
  return holds(*values_of(draft, c.mask), position, c.kind, c.threshold);
}

}  // namespace

Conditions finite_where(const Program& program, const DraftProgram& draft,
                        const Statement& statement, int32_t node) {
  const Expr& e = statement.nodes[static_cast<size_t>(node)];
  const auto child = [&](size_t c) {
    return finite_where(program, draft, statement, e.children[c]);
  };
  if (e.kind == Expr::Kind::constant) {
    return std::isfinite(e.constant) ? Conditions(std::vector<MaskCondition>{}) : std::nullopt;
  }
  if (e.kind == Expr::Kind::access) {
    if (draft.expected[static_cast<size_t>(e.tensor)].finite) return std::vector<MaskCondition>{};
    if (values_of(draft, e.tensor) != nullptr)
      return mask_condition(draft, e, MaskCondition::Kind::finite);
    return inherited(draft, e);
  }
  if (e.kind == Expr::Kind::reduce) {  // of numbers that are finite everywhere
    const Conditions body = child(0);
    return body && body->empty() ? body : std::nullopt;
  }
  if (e.kind != Expr::Kind::apply) return std::nullopt;
  if (e.op == Op::where) {
    const Expr& mask = statement.nodes[static_cast<size_t>(e.children[0])];
    const Conditions yes = child(1);
    const Conditions no = child(2);
    if (yes && no) return joined(yes, no);
    if (yes) return joined(chosen(draft, statement, mask, true), yes);
    if (no) return joined(chosen(draft, statement, mask, false), no);
    return std::nullopt;
  }
  if (e.op == Op::div) {
    const Expr& divisor = statement.nodes[static_cast<size_t>(e.children[1])];
    return divisor.kind == Expr::Kind::constant && divisor.constant != 0 ? child(0) : std::nullopt;
  }
  if (!keeps_finite(e.op)) return std::nullopt;
  Conditions all = std::vector<MaskCondition>{};
  for (size_t c = 0; c < e.children.size(); ++c) all = joined(std::move(all), child(c));
  return all;
}

Conditions over_result(const Statement& statement, std::vector<MaskCondition> conditions) {
  for (MaskCondition& condition : conditions) {
    for (IndexId& index : condition.indices) {
      const auto& result = statement.result_indices;
      const auto found = std::find(result.begin(), result.end(), index);
      if (found == result.end()) return std::nullopt;
      index = static_cast<IndexId>(found - result.begin());
    }
  }
  return conditions;
}

namespace {

/// Marks the rows that one sparse mask of bits leaves open, by its entries. `order`: the indices,
/// those of rows first; `row`: how many coordinates a row has.
bool mark_open_rows(const DraftProgram& draft, const std::vector<MaskCondition>& conditions,
                    const std::vector<IndexId>& order, int64_t row, RowScan& scan) {
  if (conditions.size() != 1 || conditions[0].kind != MaskCondition::Kind::nonzero) return false;
  const ConstantTensor& mask = *values_of(draft, conditions[0].mask);
  if (!mask.sparse() || conditions[0].indices != order) return false;
  scan.open.assign(static_cast<size_t>(mask.size() / row), false);
  const ConstantEntries& entries = mask.entries();
  for (size_t e = 0; e < entries.positions.size(); ++e) {
    if (entries.values[e] != 0) scan.open[static_cast<size_t>(entries.positions[e] / row)] = true;
  }
  return true;
}

}  // namespace

std::optional<RowScan> scan_rows(const DraftProgram& draft, const Statement& statement,
                                 const std::vector<IndexId>& over,
                                 const std::vector<MaskCondition>& conditions) {
  constexpr int64_t kMaxScanned = int64_t{1} << 28;
  std::set<IndexId> used;
  for (const MaskCondition& c : conditions) used.insert(c.indices.begin(), c.indices.end());
  RowScan scan;
  std::vector<IndexId> order;  // rows first, then what a row ranges over
  int64_t row = 1;
  int64_t total = 1;
  for (const bool inner : {false, true}) {
    for (const IndexId index : used) {
      const bool reduced = std::find(over.begin(), over.end(), index) != over.end();
      if (reduced != inner) continue;
      order.push_back(index);
      const int64_t extent = statement.indices[static_cast<size_t>(index)].extent;
      if (__builtin_mul_overflow(total, extent, &total)) return std::nullopt;
      if (inner) {
        row *= extent;
      } else {
        scan.rows.push_back(index);
        scan.extents.push_back(extent);
      }
    }
  }
  if (mark_open_rows(draft, conditions, order, row, scan)) return scan;
  if (total > kMaxScanned) return std::nullopt;
  std::vector<int64_t> at(statement.indices.size(), 0);
  bool open = false;
  for (int64_t n = 0; n < total; ++n) {
    if (!open) {
      open = std::all_of(conditions.begin(), conditions.end(),
                         [&](const MaskCondition& c) { return holds_at(draft, c, at); });
    }
    if ((n + 1) % row == 0) {
      scan.open.push_back(open);
      open = false;
    }
    for (size_t k = order.size(); k-- > 0;) {
      int64_t& c = at[static_cast<size_t>(order[k])];
      if (++c < statement.indices[static_cast<size_t>(order[k])].extent) break;
      c = 0;
    }
  }
  return scan;
}

bool every_row_open(const DraftProgram& draft, const Statement& statement,
                    const std::vector<IndexId>& over,
                    const std::vector<MaskCondition>& conditions) {
  const auto scan = scan_rows(draft, statement, over, conditions);
  return scan && std::find(scan->open.begin(), scan->open.end(), false) == scan->open.end();
}

void keep_known_values(DraftProgram& draft, const Statement& statement) {
  constexpr int64_t kMaxKept = int64_t{1} << 24;
  View view;
  view.type = draft.tensors[static_cast<size_t>(statement.result)].tensor.type;
  view.nodes = statement.nodes;
  for (const Index& index : statement.indices) view.atoms.push_back(index.extent);
  for (const IndexId i : statement.result_indices) view.dims.push_back({i});
  for (const Expr& node : statement.nodes) {
    const bool known = node.kind != Expr::Kind::access || values_of(draft, node.tensor) != nullptr;
    if (!known || node.kind == Expr::Kind::reduce) return;
  }
  if (view.size() > kMaxKept - draft.kept_values) return;
  draft.kept_values += view.size();
  draft.tensors[static_cast<size_t>(statement.result)].values =
      evaluate_value(view, [&](TensorId t) { return values_of(draft, t); });
}

}  // namespace fuseflow
