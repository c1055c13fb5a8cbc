#include "import/finish/finite_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "import/finish/fully_masked_rows.h"
#include "import/finish/masks.h"
#include "import/values/constant_stats.h"

namespace fuseflow {

namespace {

constexpr float kLarge = 1000;        ///< a mask's constant is at most -kLarge,
constexpr float kLargeAdded = 10000;  ///< ... and -kLargeAdded where it is added to a score
constexpr float kOpen = 0.25F;        ///< other values of what is added are above this part of it
constexpr float kMargin = 104;        ///< exp(-104) is 0 in f32
constexpr float kInf = std::numeric_limits<float>::infinity();

const ConstantTensor* values_of(const DraftProgram& draft, const Expr& node) {
  if (node.kind != Expr::Kind::access) return nullptr;
  const Draft& d = draft.tensors[static_cast<size_t>(node.tensor)];
  return d.data ? d.data.get() : d.values.get();
}

bool is_made(const DraftProgram& draft, const Expr& node) {
  return node.kind == Expr::Kind::access &&
         !draft.tensors[static_cast<size_t>(node.tensor)].tensor.given();
}

bool is_large(const Expr& node) {
  return node.kind == Expr::Kind::constant && node.constant <= -kLarge &&
         std::isfinite(node.constant);
}

/// The largest of the values that close entries, where what is added is a mask: each value closes
/// its entry or is far above those that do. Nothing where it is none.
std::optional<float> added_constant(const ConstantTensor& bias, float sign) {
  std::optional<float> closed;
  float open = kInf;
  for (int64_t i = 0; i < bias.size(); ++i) {
    const float value = sign * bias.as_float(i);
    if (!std::isfinite(value)) return std::nullopt;
    if (value <= -kLargeAdded)
      closed = std::max(closed.value_or(value), value);
    else
      open = std::min(open, value);
  }
  return closed && open >= kOpen * *closed ? closed : std::nullopt;
}

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
      const auto open = condition_on(draft, s, child(0), kind);
      if (open) return FiniteMask{s.result, -1, child(c).constant, *open, {}, false, 0, {}};
    }
  }
  if (root.op != Op::add && root.op != Op::sub) return std::nullopt;
  // Of two that are known, one that a statement makes holds the masks before it, too.
  const size_t first = is_made(draft, child(1)) && !is_made(draft, child(0)) ? 0 : 1;
  for (const size_t c : {first, 1 - first}) {
    const ConstantTensor* bias = values_of(draft, child(c));
    if (bias == nullptr || bias->sparse() || (root.op == Op::sub && c == 0)) continue;
    const float sign = root.op == Op::add ? 1.0F : -1.0F;
    const std::optional<float> closed = added_constant(*bias, sign);
    if (!closed) continue;
    const bool add = root.op == Op::add;
    const auto kind = add ? MaskCondition::Kind::above : MaskCondition::Kind::below;
    const auto open = condition_on(draft, s, child(c), kind, sign * *closed);
    if (open) return FiniteMask{s.result, -1, *closed, *open, {}, true, 0, {}};
  }
  return std::nullopt;
}

const Statement* maker(const DraftProgram& draft, TensorId tensor) {
  for (const DraftStatement& made : draft.statements) {
    if (made.statement.result == tensor) return &made.statement;
  }
  return nullptr;
}

int readers(const DraftProgram& draft, TensorId tensor) {
  return static_cast<int>(std::count_if(
      draft.statements.begin(), draft.statements.end(), [&](const DraftStatement& made) {
        return std::any_of(
            made.statement.nodes.begin(), made.statement.nodes.end(),
            [&](const Expr& e) { return e.kind == Expr::Kind::access && e.tensor == tensor; });
      }));
}

/// What a masked number is multiplied with on its way through a statement from operand c; nothing
/// if it may become anything else.
std::optional<float> scale_of(const Statement& s, size_t c) {
  const Expr& root = s.root();
  const auto other = [&]() -> const Expr& {
    return s.nodes[static_cast<size_t>(root.children[1 - c])];
  };
  const bool positive = (root.op == Op::mul || root.op == Op::div) &&
                        other().kind == Expr::Kind::constant && other().constant > 0 &&
                        std::isfinite(other().constant);
  if (root.op == Op::where && c > 0) {
    const Expr& chosen = s.nodes[static_cast<size_t>(root.children[0])];
    const bool left = chosen.kind == Expr::Kind::constant && (chosen.constant != 0) != (c == 1);
    return left ? std::nullopt : std::optional<float>(1.0F);
  }
  if (root.op == Op::mul && positive) return other().constant;
  if (root.op == Op::div && c == 0 && positive) return 1 / other().constant;
  if (root.op == Op::add || (root.op == Op::sub && c == 0)) return 1.0F;
  return std::nullopt;
}

/// A value on the way from a mask to the scores of a softmax, and what happens to it after.
struct OnTheWay {
  TensorId value = -1;
  std::vector<int> dims;  ///< the scores' dimension of each of its own
  float scale = 1;        ///< what it is multiplied with
  bool added = false;     ///< something is added to it
  float shift = 0;        ///< the part of that which is known: FiniteMask::shift
  std::vector<TensorId> way;
};

/// How far the numbers of a sum or difference, those of the model, lower all other operands' values
/// at least; 0 or less. A mask among them is none of it.
float lowered_by(const DraftProgram& draft, const Statement& s, const FiniteMask* mask) {
  const Expr& root = s.root();
  float all = 0;
  for (size_t c = 0; c < root.children.size(); ++c) {
    const Expr& e = s.nodes[static_cast<size_t>(root.children[c])];
    const bool negated = root.op == Op::sub && c == 1;
    Facts term;
    if (e.kind == Expr::Kind::constant) {
      term.least = term.largest = e.constant;
    } else if (e.kind == Expr::Kind::access) {
      const Draft& of = draft.tensors[static_cast<size_t>(e.tensor)];
      if (!of.data || (mask != nullptr && e.tensor == mask->open.mask)) continue;
      term = facts_of(*of.data);
    }
    const float most = negated ? -term.least : term.largest;
    if (most < 0) all += most;
  }
  return all;
}

/// Adds the masks at and before a value. Returns how far terms before it lower all of the scores.
float collect(const DraftProgram& draft, const OnTheWay& at, FiniteMasks& found, int depth = 0) {
  constexpr size_t kMaxMasks = 4;
  constexpr int kMaxDepth = 64;  // a mask is a few statements before its softmax
  const Statement* s = maker(draft, at.value);
  if (s == nullptr || found.masks.size() == kMaxMasks || depth == kMaxDepth) return 0;
  for (const Expr& node : s->nodes) {
    if (node.kind != Expr::Kind::access) continue;
    if (values_of(draft, node) != nullptr ||
        draft.tensors[static_cast<size_t>(node.tensor)].tensor.given())
      found.data.push_back(node.tensor);
  }
  std::vector<TensorId> way = at.way;
  way.push_back(at.value);
  const Expr& root = s->root();
  const bool term = root.kind == Expr::Kind::apply && (root.op == Op::add || root.op == Op::sub);
  auto mask = finite_mask(draft, *s);
  float lowered = term ? at.scale * lowered_by(draft, *s, mask ? &*mask : nullptr) : 0;
  const TensorId bias = mask ? mask->open.mask : -1;
  std::optional<size_t> own;
  if (mask) {
    mask->masked *= at.scale;
    mask->added = mask->added || at.added;
    mask->dims = at.dims;
    mask->shift = at.shift;
    mask->way = way;
    if (mask->masked <= (mask->added ? -kLargeAdded : -kLarge)) {
      own = found.masks.size();
      found.masks.push_back(std::move(*mask));
    }
  }
  if (root.kind != Expr::Kind::apply) return 0;
  for (size_t c = 0; c < root.children.size(); ++c) {
    const Expr& e = s->nodes[static_cast<size_t>(root.children[c])];
    const auto factor = scale_of(*s, c);
    if (e.kind != Expr::Kind::access || !factor || e.tensor == bias) continue;
    const Draft& from = draft.tensors[static_cast<size_t>(e.tensor)];
    if (from.tensor.role != Role::temporary || readers(draft, e.tensor) != 1) continue;
    OnTheWay inner{e.tensor, {}, at.scale * *factor, at.added || term, at.shift + lowered, way};
    const bool by_index = condition_on(draft, *s, e, MaskCondition::Kind::finite).has_value();
    for (size_t d = 0; d < from.shape.size() && by_index; ++d) {
      const auto to =
          std::find(s->result_indices.begin(), s->result_indices.end(), e.subscripts[d].plain());
      inner.dims.push_back(at.dims[static_cast<size_t>(to - s->result_indices.begin())]);
    }
    if (inner.dims.size() == from.shape.size()) lowered += collect(draft, inner, found, depth + 1);
  }
  if (root.op == Op::where) return 0;  // terms before do not lower what it chooses instead
  if (own && term) found.masks[*own].shift += lowered;
  return lowered;
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

LeastMaximum least_maximum(const FiniteMask& mask) {
  if (!mask.added) return {mask.masked, kMargin};
  const float lowered = mask.masked / 2 + mask.shift;
  return {std::isfinite(lowered) ? lowered : mask.masked / 2, kMargin / 2};
}

/// What data added to masked entries may be at most.
float most_added(const FiniteMask& mask) {
  return -mask.masked / 2 - kMargin / 2;
}

/// margin = maximum - the least maximum, assumed not to be negative; 0 in fully masked rows.
DraftStatement margin_statement(DraftProgram& draft, const DraftStatement& maximum,
                                const LeastMaximum& least, const FullyMaskedRows* rows) {
  const TensorId source = maximum.statement.result;
  const TensorId closed = rows == nullptr ? -1 : add_fully_masked_vector(draft, *rows);
  DraftStatement made;
  made.group = maximum.group;
  Statement& s = made.statement;
  s.from = maximum.statement.from;
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
  s.nodes = {access, literal(least.constant), apply_node(Op::sub, {0, 1}), literal(least.distance),
             apply_node(Op::sub, {2, 3})};  // C + 104 would be C where C is the least float
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
    s.nodes.push_back(apply_node(Op::where, {5, 6, 4}));
  }
  Draft margin;
  margin.tensor.name = draft.tensors[static_cast<size_t>(source)].tensor.name + ".margin";
  margin.tensor.assumed.nonnegative = true;
  margin.shape = draft.tensors[static_cast<size_t>(source)].shape;
  draft.tensors.push_back(std::move(margin));
  return made;
}

}  // namespace

LeastMaximum least_maximum(const std::vector<FiniteMask>& masks) {
  LeastMaximum least = least_maximum(masks.front());
  for (const FiniteMask& mask : masks) {
    const LeastMaximum own = least_maximum(mask);
    if (own.constant + own.distance > least.constant + least.distance) least = own;
  }
  return least;
}

FiniteMasks finite_masks_before(const DraftProgram& draft, TensorId scores) {
  const Draft& d = draft.tensors[static_cast<size_t>(scores)];
  if (d.tensor.role != Role::temporary) return {};
  OnTheWay at{scores, std::vector<int>(d.shape.size()), 1, false, 0, {}};
  std::iota(at.dims.begin(), at.dims.end(), 0);
  FiniteMasks found;
  collect(draft, at, found);
  return found;
}

bool leads_from_mask(const DraftProgram& draft, TensorId tensor) {
  return std::any_of(draft.finite_masks.begin(), draft.finite_masks.end(),
                     [&](const FiniteMask& mask) {
                       return std::find(mask.way.begin(), mask.way.end(), tensor) != mask.way.end();
                     });
}

bool carries_finite_rows(const DraftProgram& draft, const Statement& s) {
  const Expr& root = s.root();
  if (root.kind != Expr::Kind::apply || !leads_from_mask(draft, s.result)) return false;
  for (size_t c = 0; c < root.children.size(); ++c) {
    const Expr& e = s.nodes[static_cast<size_t>(root.children[c])];
    if (e.kind == Expr::Kind::access && leads_from_mask(draft, e.tensor) &&
        draft.tensors[static_cast<size_t>(e.tensor)].rows_finite && scale_of(s, c))
      return true;
  }
  return false;
}

namespace {

/// Whether masked entries can be absent: a NaN or an infinite score reaches them, too, and data
/// that make up for an added constant.
bool operands_small(const DraftProgram& draft, const Statement& masking, const FiniteMask& mask) {
  for (const Expr& node : masking.nodes) {
    if (node.kind != Expr::Kind::access || node.tensor == mask.open.mask) continue;
    const auto t = static_cast<size_t>(node.tensor);
    const Facts& known = draft.expected[t];
    if (!known.finite && !draft.tensors[t].rows_finite) return false;
    const bool data = draft.tensors[t].tensor.given();  // whose range is reached
    if (mask.added && data && known.largest > most_added(mask)) return false;
  }
  return true;
}

/// VALUE.closed_rows at the indices of the masking statement.
Expr closed_entries(DraftProgram& draft, const Statement& masking, const FiniteMask& mask,
                    const FullyMaskedRows& closed) {
  Expr e;
  e.kind = Expr::Kind::access;
  for (const int dim : closed.matrix_dims) {
    const auto at = std::find(mask.dims.begin(), mask.dims.end(), dim) - mask.dims.begin();
    const IndexId index = masking.result_indices[static_cast<size_t>(at)];
    e.subscripts.push_back(Subscript{{{index, 1}}, 0});
  }
  e.tensor = add_fully_masked_matrix(draft, closed);
  return e;
}

/// Whether the scores' range proves the margin: the maximum is taken of `where(mask, x, C)` itself,
/// and the least x exceeds C by enough.
bool margin_is_proved(const DraftProgram& draft, const Statement& masking, const FiniteMask& mask) {
  const Statement* maximum = maker(draft, mask.maximum);
  const Expr& root = masking.root();
  if (maximum == nullptr || root.kind != Expr::Kind::apply || root.op != Op::where) return false;
  const Expr& scores = maximum->nodes[0];
  if (scores.kind != Expr::Kind::access || scores.tensor != mask.value) return false;
  for (const size_t c : {size_t{1}, size_t{2}}) {
    const Expr& x = masking.nodes[static_cast<size_t>(root.children[c])];
    if (x.kind != Expr::Kind::access) continue;
    const Facts& known = draft.expected[static_cast<size_t>(x.tensor)];
    return known.finite && known.least - mask.masked >= kMargin;
  }
  return false;
}

/// The statement after the maximum that checks the margin, unless it is there already.
void add_margin(DraftProgram& draft, const FiniteMask& mask, const FullyMaskedRows* closed) {
  std::vector<FiniteMask> masks;
  for (const FiniteMask& other : draft.finite_masks) {
    if (other.maximum == mask.maximum) masks.push_back(other);
  }
  const LeastMaximum least = least_maximum(masks);
  for (size_t s = 0; s < draft.statements.size(); ++s) {
    if (draft.statements[s].statement.result != mask.maximum) continue;
    const std::string margin =
        draft.tensors[static_cast<size_t>(mask.maximum)].tensor.name + ".margin";
    const bool there = std::any_of(draft.tensors.begin(), draft.tensors.end(),
                                   [&](const Draft& d) { return d.tensor.name == margin; });
    if (there) return;
    const DraftStatement maximum = draft.statements[s];
    DraftStatement made = margin_statement(draft, maximum, least, closed);
    draft.statements.insert(draft.statements.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                            std::move(made));
    return;
  }
}

}  // namespace

bool widen_finite_mask(DraftProgram& draft, size_t s) {
  const TensorId value = draft.statements[s].statement.result;
  const auto found = std::find_if(draft.finite_masks.begin(), draft.finite_masks.end(),
                                  [&](const FiniteMask& m) { return m.value == value; });
  if (found == draft.finite_masks.end()) return false;
  const FiniteMask mask = *found;
  const Statement& masking = draft.statements[s].statement;
  if (!operands_small(draft, masking, mask)) return false;
  const bool proved = margin_is_proved(draft, masking, mask);
  const FullyMaskedRows* closed = fully_masked_rows_of(draft, mask.maximum);
  std::optional<Expr> rows;
  if (closed != nullptr) rows = closed_entries(draft, masking, mask, *closed);
  widen(draft.statements[s].statement, mask, rows);
  draft.tensors[static_cast<size_t>(value)].rows_finite = true;
  for (const TensorId t : mask.way) draft.tensors[static_cast<size_t>(t)].values.reset();
  if (!proved) add_margin(draft, mask, closed);
  return true;
}

}  // namespace fuseflow
