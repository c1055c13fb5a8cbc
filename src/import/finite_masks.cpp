#include "import/finite_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/closed_rows.h"
#include "import/masks.h"

namespace fuseflow {

namespace {

constexpr float kLarge = 1000;  ///< a mask's constant is at most -kLarge
constexpr float kMargin = 104;  ///< exp(-104) is 0 in f32
constexpr float kInf = std::numeric_limits<float>::infinity();

const HostTensor* values_of(const DraftProgram& draft, const Expr& node) {
  if (node.kind != Expr::Kind::access) return nullptr;
  const Draft& d = draft.tensors[static_cast<size_t>(node.tensor)];
  return d.data ? d.data.get() : d.values.get();
}

std::optional<MaskCondition> condition(const Expr& access, MaskCondition::Kind kind,
                                       float threshold) {
  MaskCondition c{access.tensor, kind, {}, threshold};
  for (const Subscript& s : access.subscripts) {
    if (!s.is_plain()) return std::nullopt;
    c.indices.push_back(s.plain());
  }
  return c;
}

bool is_large(const Expr& node) {
  return node.kind == Expr::Kind::constant && node.constant <= -kLarge &&
         std::isfinite(node.constant);
}

}  // namespace

std::optional<FiniteMask> finite_mask(const DraftProgram& draft, const Statement& s) {
  const Expr& root = s.root();
  if (root.kind != Expr::Kind::apply) return std::nullopt;
  const auto child = [&](size_t c) -> const Expr& {
    return s.nodes[static_cast<size_t>(root.children[c])];
  };
  if (root.op == Op::where && values_of(draft, child(0)) != nullptr) {
    for (const size_t c : {size_t{1}, size_t{2}}) {
      if (!is_large(child(c))) continue;
      const auto kind = c == 1 ? MaskCondition::Kind::zero : MaskCondition::Kind::nonzero;
      const auto open = condition(child(0), kind, 0);
      if (open) return FiniteMask{child(c).constant, *open};
    }
  }
  if (root.op != Op::add && root.op != Op::sub) return std::nullopt;
  for (const size_t c : {size_t{1}, size_t{0}}) {
    const HostTensor* bias = values_of(draft, child(c));
    if (bias == nullptr || bias->sparse || (root.op == Op::sub && c == 0)) continue;
    float extreme = 0;
    for (int64_t i = 0; i < bias->size(); ++i) {
      const float v = root.op == Op::add ? bias->as_float(i) : -bias->as_float(i);
      extreme = std::min(extreme, v);
    }
    if (extreme > -kLarge || !std::isfinite(extreme)) continue;
    const bool add = root.op == Op::add;
    const auto kind = add ? MaskCondition::Kind::above : MaskCondition::Kind::below;
    const auto open = condition(child(c), kind, add ? extreme : -extreme);
    if (open) return FiniteMask{extreme, *open};
  }
  return std::nullopt;
}

namespace {

/// The statement max over `tensor` of the softmax that alone uses it; -1 if something else does.
int softmax_maximum(const DraftProgram& draft, TensorId tensor) {
  int maximum = -1;
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    const Statement& statement = draft.statements[s].statement;
    const bool uses = std::any_of(
        statement.nodes.begin(), statement.nodes.end(),
        [&](const Expr& e) { return e.kind == Expr::Kind::access && e.tensor == tensor; });
    if (!uses) continue;
    const Expr& root = statement.root();
    if (root.kind == Expr::Kind::reduce && root.reduction == Reduction::max &&
        statement.nodes.size() == 2) {
      maximum = static_cast<int>(s);
      continue;
    }
    const bool shifted = root.kind == Expr::Kind::apply && root.op == Op::exp &&
                         statement.nodes[static_cast<size_t>(root.children[0])].op == Op::sub;
    if (!shifted) return -1;
  }
  return draft.tensors[static_cast<size_t>(tensor)].tensor.role == Role::temporary ? maximum : -1;
}

/// The conditions of the masking statement, over the indices of the statement that reads its
/// result.
bool rows_are_open(const DraftProgram& draft, const Statement& masking, const Statement& maximum,
                   MaskCondition open) {
  auto over = over_result(masking, {std::move(open)});
  if (!over) return false;
  const Expr& access = maximum.nodes[0];
  for (IndexId& index : (*over)[0].indices) {
    const Subscript& s = access.subscripts[static_cast<size_t>(index)];
    if (!s.is_plain()) return false;
    index = s.plain();
  }
  return every_row_open(draft, maximum, maximum.root().over, *over);
}

Expr apply_node(Op op, std::vector<int32_t> children) {
  Expr node;
  node.kind = Expr::Kind::apply;
  node.op = op;
  node.children = std::move(children);
  return node;
}

Expr literal(float value) {
  Expr node;
  node.constant = value;
  return node;
}

int32_t append(Statement& s, Expr node) {
  s.nodes.push_back(std::move(node));
  return static_cast<int32_t>(s.nodes.size()) - 1;
}

/// value -> -inf where the mask is closed, but not where `rows` (if there is one) is not 0.
void widen(Statement& s, const FiniteMask& mask, const std::optional<Expr>& rows) {
  const Expr root = s.nodes.back();
  const auto value = static_cast<int32_t>(s.nodes.size()) - 1;
  if (root.op == Op::where && !rows) {
    const size_t closed = mask.open.kind == MaskCondition::Kind::zero ? 1 : 2;
    s.nodes[static_cast<size_t>(root.children[closed])].constant = -kInf;
    return;
  }
  Expr bits;  // of the mask: the condition of the `where`, or the bias
  for (const int32_t c : root.children) {
    const Expr& e = s.nodes[static_cast<size_t>(c)];
    if (e.kind == Expr::Kind::access && e.tensor == mask.open.mask) bits = e;
  }
  int32_t open = append(s, std::move(bits));
  if (mask.open.kind == MaskCondition::Kind::zero) {
    open = append(s, apply_node(Op::logical_not, {open}));
  } else if (mask.open.kind != MaskCondition::Kind::nonzero) {
    const Op comparison = mask.open.kind == MaskCondition::Kind::above ? Op::gt : Op::lt;
    const int32_t threshold = append(s, literal(mask.open.threshold));
    open = append(s, apply_node(comparison, {open, threshold}));
  }
  if (rows) {
    const int32_t kept = append(s, *rows);
    open = append(s, apply_node(Op::logical_or, {open, kept}));
  }
  const int32_t otherwise = append(s, literal(-kInf));
  append(s, apply_node(Op::where, {open, value, otherwise}));
}

/// margin = maximum - (C + 104), assumed not to be negative; 0 in closed rows.
DraftStatement margin_statement(DraftProgram& draft, const DraftStatement& maximum, float masked,
                                const ClosedRows* rows) {
  const TensorId source = maximum.statement.result;
  const TensorId closed = rows == nullptr ? -1 : add_closed_vector(draft, *rows);
  DraftStatement made;
  made.group = maximum.group;
  Statement& s = made.statement;
  s.result = static_cast<TensorId>(draft.tensors.size());
  Expr access;
  access.kind = Expr::Kind::access;
  access.tensor = source;
  for (const IndexId i : maximum.statement.result_indices) {
    s.result_indices.push_back(static_cast<IndexId>(s.indices.size()));
    access.subscripts.push_back(Subscript{{{static_cast<IndexId>(s.indices.size()), 1}}, 0});
    s.indices.push_back(maximum.statement.indices[static_cast<size_t>(i)]);
    s.indices.back().stated = false;
  }
  s.nodes = {access, literal(masked + kMargin), apply_node(Op::sub, {0, 1})};
  if (rows != nullptr) {
    Expr bits = access;
    bits.tensor = closed;
    bits.subscripts.clear();
    for (const int dim : rows->vector_dims) {
      const Expr& scores = maximum.statement.nodes[0];
      const IndexId index = scores.subscripts[static_cast<size_t>(dim)].plain();
      const auto& result = maximum.statement.result_indices;
      const auto at = std::find(result.begin(), result.end(), index) - result.begin();
      bits.subscripts.push_back(access.subscripts[static_cast<size_t>(at)]);
    }
    s.nodes.push_back(std::move(bits));
    s.nodes.push_back(literal(0));
    s.nodes.push_back(apply_node(Op::where, {3, 4, 2}));
  }
  Draft margin;
  margin.tensor.name = draft.tensors[static_cast<size_t>(source)].tensor.name + ".margin";
  margin.tensor.assumed.nonnegative = true;
  margin.shape = draft.tensors[static_cast<size_t>(source)].shape;
  draft.tensors.push_back(std::move(margin));
  return made;
}

}  // namespace

bool widen_finite_mask(DraftProgram& draft, size_t s) {
  const auto mask = finite_mask(draft, draft.statements[s].statement);
  if (!mask) return false;
  const Statement& masking = draft.statements[s].statement;
  for (const Expr& node : masking.nodes) {  // a NaN or infinite score reaches masked entries too
    if (node.kind != Expr::Kind::access || node.tensor == mask->open.mask) continue;
    if (!draft.expected[static_cast<size_t>(node.tensor)].finite) return false;
  }
  const int at = softmax_maximum(draft, masking.result);
  if (at < 0) return false;
  const DraftStatement maximum = draft.statements[static_cast<size_t>(at)];
  const ClosedRows* closed = closed_rows_of(draft, maximum.statement.result);
  if (closed == nullptr && !rows_are_open(draft, masking, maximum.statement, mask->open))
    return false;
  std::optional<Expr> rows;
  if (closed != nullptr) {
    rows.emplace();
    rows->kind = Expr::Kind::access;
    for (const int dim : closed->matrix_dims) {
      const IndexId index = masking.result_indices[static_cast<size_t>(dim)];
      rows->subscripts.push_back(Subscript{{{index, 1}}, 0});
    }
    rows->tensor = add_closed_matrix(draft, *closed);
  }
  widen(draft.statements[s].statement, *mask, rows);
  draft.tensors[static_cast<size_t>(masking.result)].rows_finite = true;
  DraftStatement margin = margin_statement(draft, maximum, mask->masked, closed);
  draft.statements.insert(draft.statements.begin() + at + 1, std::move(margin));
  return true;
}

}  // namespace fuseflow
