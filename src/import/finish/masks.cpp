// Conditions on masks, and whether they leave every row open.
#include "import/finish/masks.h"

#include "import/values/evaluate.h"
#include "ir/inside.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace fuseflow {

namespace {

using Conditions = std::optional<MaskConditions>;

const ConstantTensor* values_of(const DraftProgram& draft, TensorId tensor) {
  const Draft& d = draft.tensors[static_cast<size_t>(tensor)];
  return d.data ? d.data.get() : d.values.get();
}

const Expr& child_of(const Statement& s, const Expr& e, size_t c) {
  return s.nodes[static_cast<size_t>(e.children[c])];
}

/// The condition that a `where` chooses its second operand (or its third) by a mask, or by a mask
/// compared with a number.
std::optional<MaskCondition> chosen(const DraftProgram& draft, const Statement& s, const Expr& mask,
                                    bool second) {
  using Kind = MaskCondition::Kind;
  const auto on = [&](const Expr& read, Kind kind, float threshold) {
    const bool known = read.kind == Expr::Kind::access && values_of(draft, read.tensor) != nullptr;
    return known ? condition_on(draft, s, read, kind, threshold) : std::nullopt;
  };
  if (mask.kind == Expr::Kind::access) return on(mask, second ? Kind::nonzero : Kind::zero, 0);
  if (mask.kind != Expr::Kind::apply || !second || (mask.op != Op::gt && mask.op != Op::lt))
    return std::nullopt;
  const Expr& bound = child_of(s, mask, 1);
  if (bound.kind != Expr::Kind::constant) return std::nullopt;
  return on(child_of(s, mask, 0), mask.op == Op::gt ? Kind::above : Kind::below, bound.constant);
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

/// Finite and above 0.
bool is_positive(const DraftProgram& draft, const Expr& e) {
  if (e.kind == Expr::Kind::constant) return e.constant > 0 && std::isfinite(e.constant);
  if (e.kind != Expr::Kind::access) return false;
  const Facts& known = draft.expected[static_cast<size_t>(e.tensor)];
  return known.finite && known.nonnegative && known.nonzero;
}

/// What an operator makes of -inf in one operand where the others are finite, or (of an operator
/// that keeps it in any operand) -inf, too.
enum class OfAbsent { absent, finite, other };

OfAbsent of_absent(const DraftProgram& draft, const Statement& s, const Expr& e, size_t c) {
  switch (e.op) {
    case Op::add:
    case Op::min:
    case Op::f16:
    case Op::bf16:
      return OfAbsent::absent;
    case Op::sub:
      return c == 0 ? OfAbsent::absent : OfAbsent::other;
    case Op::mul:
      return is_positive(draft, child_of(s, e, 1 - c)) ? OfAbsent::absent : OfAbsent::other;
    case Op::div:
      return c == 0 && is_positive(draft, child_of(s, e, 1)) ? OfAbsent::absent : OfAbsent::other;
    case Op::relu:
    case Op::tanh:
    case Op::sigmoid:
    case Op::exp:
      return OfAbsent::finite;
    case Op::max:
    case Op::elu: {
      const Expr& other = child_of(s, e, 1 - c);
      const bool finite = other.kind == Expr::Kind::constant && std::isfinite(other.constant);
      return finite ? OfAbsent::finite : OfAbsent::other;
    }
    default:
      return OfAbsent::other;
  }
}

/// What is read beyond a tensor's extents is 0 there, under no condition.
bool reads_inside(const DraftProgram& draft, const Statement& s, const Expr& access) {
  const std::vector<int64_t>& shape = draft.tensors[static_cast<size_t>(access.tensor)].shape;
  const auto extent_of = [&](IndexId i) { return s.indices[static_cast<size_t>(i)].extent; };
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!stays_inside(access.subscripts[d], shape[d], extent_of)) return false;
  }
  return true;
}

void add(MaskConditions& to, const MaskConditions& more) {
  for (const MaskCondition& condition : more.all) {
    if (std::find(to.all.begin(), to.all.end(), condition) == to.all.end())
      to.all.push_back(condition);
  }
  to.absent_elsewhere = to.absent_elsewhere && more.absent_elsewhere;
}

/// An access: conditions of an intermediate are its own, over this statement's indices.
Conditions read_finite_where(const DraftProgram& draft, const Statement& s, const Expr& access) {
  const auto t = static_cast<size_t>(access.tensor);
  const Facts& expected = draft.expected[t];
  if (expected.finite) return MaskConditions{};
  if (values_of(draft, access.tensor) != nullptr) {
    const auto finite = condition_on(draft, s, access, MaskCondition::Kind::finite);
    if (!finite) return std::nullopt;
    return MaskConditions{{*finite}, expected.no_nan && expected.below_inf};
  }
  Conditions result = draft.tensors[t].finite_where;
  if (!result || !reads_inside(draft, s, access)) return std::nullopt;
  for (MaskCondition& condition : result->all) {
    for (IndexId& index : condition.indices) {
      const Subscript& at = access.subscripts[static_cast<size_t>(index)];
      if (!at.is_plain()) return std::nullopt;
      index = at.plain();
    }
  }
  return result;
}

/// A `where`. It is -inf by a mask where it would choose that number, and finite by one where it
/// does not.
Conditions selected_finite_where(const DraftProgram& draft, const Statement& s, const Expr& e) {
  constexpr float kAbsent = -std::numeric_limits<float>::infinity();
  const Conditions of[] = {finite_where(draft, s, e.children[1]),
                           finite_where(draft, s, e.children[2])};
  if (of[0] && of[1]) {
    MaskConditions both = *of[0];
    add(both, *of[1]);
    both.absent_elsewhere = both.all.empty();  // of one, the other may be chosen
    return both;
  }
  if (!of[0] && !of[1]) return std::nullopt;
  const size_t finite = of[0] ? 1 : 2;
  const auto open = chosen(draft, s, child_of(s, e, 0), finite == 1);
  if (!open) return std::nullopt;
  const Expr& otherwise = child_of(s, e, 3 - finite);
  MaskConditions result{{*open},
                        otherwise.kind == Expr::Kind::constant && otherwise.constant == kAbsent};
  add(result, *of[finite - 1]);
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

std::optional<MaskCondition> condition_on(const DraftProgram& draft, const Statement& statement,
                                          const Expr& access, MaskCondition::Kind kind,
                                          float threshold) {
  if (!reads_inside(draft, statement, access)) return std::nullopt;
  MaskCondition condition{access.tensor, kind, {}, threshold};
  for (const Subscript& s : access.subscripts) {
    if (!s.is_plain()) return std::nullopt;
    condition.indices.push_back(s.plain());
  }
  return condition;
}

Conditions finite_where(const DraftProgram& draft, const Statement& statement, int32_t node) {
  const Expr& e = statement.nodes[static_cast<size_t>(node)];
  if (e.kind == Expr::Kind::constant)
    return std::isfinite(e.constant) ? Conditions(MaskConditions{}) : std::nullopt;
  if (e.kind == Expr::Kind::access) return read_finite_where(draft, statement, e);
  if (e.kind == Expr::Kind::reduce) {  // of numbers that are finite everywhere
    const Conditions body = finite_where(draft, statement, e.children[0]);
    return body && body->all.empty() ? body : std::nullopt;
  }
  if (e.kind != Expr::Kind::apply) return std::nullopt;
  if (e.op == Op::where) return selected_finite_where(draft, statement, e);
  if (e.op == Op::div) {
    const Expr& divisor = child_of(statement, e, 1);
    if (divisor.kind != Expr::Kind::constant || divisor.constant == 0) return std::nullopt;
  } else if (!keeps_finite(e.op)) {
    return std::nullopt;
  }
  MaskConditions result;
  const size_t operands = e.op == Op::div ? 1 : e.children.size();
  for (size_t c = 0; c < operands; ++c) {
    Conditions operand = finite_where(draft, statement, e.children[c]);
    if (!operand) return std::nullopt;
    if (operand->all.empty()) continue;
    const OfAbsent becomes = of_absent(draft, statement, e, c);
    if (operand->absent_elsewhere && becomes == OfAbsent::finite) continue;
    operand->absent_elsewhere = operand->absent_elsewhere && becomes == OfAbsent::absent;
    add(result, *operand);
  }
  return result;
}

namespace {

/// The conditions of a statement's result by what it is made of.
Conditions made_finite_where(const DraftProgram& draft, const Statement& statement) {
  const auto root = static_cast<int32_t>(statement.nodes.size()) - 1;
  Conditions found = finite_where(draft, statement, root);
  if (!found) return std::nullopt;
  auto over = over_result(statement, std::move(found->all));
  if (!over) return std::nullopt;
  return MaskConditions{std::move(*over), found->absent_elsewhere};
}

/// Whether known values are finite where the conditions hold, and nowhere else.
bool describe(const DraftProgram& draft, const std::vector<MaskCondition>& conditions,
              const ConstantTensor& values) {
  std::vector<int64_t> at(values.shape.size(), 0);
  for (int64_t n = 0; n < values.size(); ++n) {
    const bool all = std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
      return holds_at(draft, condition, at);
    });
    if (all != std::isfinite(values.as_float(n))) return false;
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < values.shape[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

}  // namespace

Conditions result_finite_where(const DraftProgram& draft, const Statement& statement) {
  const auto id = static_cast<size_t>(statement.result);
  const ConstantPtr& values = draft.tensors[id].values;
  Conditions made = made_finite_where(draft, statement);
  if (!values) return made;
  const Facts& expected = draft.expected[id];
  if (expected.finite) return MaskConditions{};
  if (made && describe(draft, made->all, *values)) return made;
  MaskCondition finite{statement.result, MaskCondition::Kind::finite, {}, 0};
  for (size_t d = 0; d < values->shape.size(); ++d)
    finite.indices.push_back(static_cast<IndexId>(d));
  return MaskConditions{{finite}, expected.no_nan && expected.below_inf};
}

std::optional<std::vector<MaskCondition>> over_result(const Statement& statement,
                                                      std::vector<MaskCondition> conditions) {
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
      evaluate_if_defined(view, [&](TensorId t) { return values_of(draft, t); });
}

}  // namespace fuseflow
