#include "import/finite_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/masks.h"

namespace fuseflow {

namespace {

constexpr float kLarge = 1000;  ///< a mask's constant is at most -kLarge
constexpr float kMargin = 104;  ///< exp(-104) is 0 in f32
constexpr float kInf = std::numeric_limits<float>::infinity();

/// A statement whose value is `masked` where the mask is closed.
struct FiniteMask {
  float masked = 0;
  MaskCondition open;
};

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

/// where(mask, x, C) or where(mask, C, x), or x + bias or x - bias with a bias of large numbers.
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

/// value -> -inf where the mask is closed.
void widen(Statement& s, const FiniteMask& mask) {
  Expr root = s.nodes.back();
  if (root.op == Op::where) {
    const size_t closed = mask.open.kind == MaskCondition::Kind::zero ? 1 : 2;
    s.nodes[static_cast<size_t>(root.children[closed])].constant = -kInf;
    return;
  }
  // where(bias > C, x + bias, -inf)
  Expr bias;
  for (const int32_t c : root.children) {
    const Expr& e = s.nodes[static_cast<size_t>(c)];
    if (e.kind == Expr::Kind::access && e.tensor == mask.open.mask) bias = e;
  }
  const auto value = static_cast<int32_t>(s.nodes.size()) - 1;
  const Op comparison = mask.open.kind == MaskCondition::Kind::above ? Op::gt : Op::lt;
  s.nodes.push_back(bias);
  s.nodes.push_back(literal(mask.open.threshold));
  s.nodes.push_back(apply_node(comparison, {value + 1, value + 2}));
  s.nodes.push_back(literal(-kInf));
  s.nodes.push_back(apply_node(Op::where, {value + 3, value, value + 4}));
}

/// margin = maximum - (C + 104), assumed not to be negative.
DraftStatement margin_statement(DraftProgram& draft, const DraftStatement& maximum, float masked) {
  const TensorId source = maximum.statement.result;
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
  if (!rows_are_open(draft, masking, maximum.statement, mask->open)) return false;
  widen(draft.statements[s].statement, *mask);
  DraftStatement margin = margin_statement(draft, maximum, mask->masked);
  draft.statements.insert(draft.statements.begin() + at + 1, std::move(margin));
  return true;
}

}  // namespace fuseflow
