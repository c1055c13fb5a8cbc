#include "import/finish/mask_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "import/values/constant_stats.h"

namespace fuseflow {

namespace {

constexpr float kMost = std::numeric_limits<float>::max();
constexpr int64_t kMaxSteps = int64_t{1} << 24;
constexpr int kMaxDepth = 256;

/// Goes to the next place of some indices; false after the last.
bool next_place(const Statement& s, const std::vector<IndexId>& indices,
                std::vector<int64_t>& place) {
  for (size_t k = indices.size(); k-- > 0;) {
    int64_t& at = place[static_cast<size_t>(indices[k])];
    if (++at < s.indices[static_cast<size_t>(indices[k])].extent) return true;
    at = 0;
  }
  return false;
}

}  // namespace

MaskSums::Values MaskSums::one(float value) {
  Values v;
  v.known = true;
  v.least = v.largest = value;
  v.infinite = value == -std::numeric_limits<float>::infinity();
  v.finite = std::isfinite(value);
  return v;
}

MaskSums::Values MaskSums::any_of(const Values& a, const Values& b) {
  Values v;
  v.infinite = a.infinite || b.infinite;
  v.overflow = a.overflow || b.overflow;
  v.finite = a.finite || b.finite;
  v.least = a.finite && b.finite ? std::min(a.least, b.least) : (a.finite ? a : b).least;
  v.largest = a.finite && b.finite ? std::max(a.largest, b.largest) : (a.finite ? a : b).largest;
  return v;
}

/// -inf that no number of the model is.
MaskSums::Values MaskSums::absent_sum() {
  Values v = one(-std::numeric_limits<float>::infinity());
  v.infinite = false;
  v.overflow = true;
  return v;
}

/// What the type has no number for is -inf.
MaskSums::Values MaskSums::bounded(Values v, ElementType type) {
  const float most = type == ElementType::f16 ? 65504 : kMost;
  const float beyond = type == ElementType::f16 ? 65520 : std::numeric_limits<float>::infinity();
  if (!v.finite) return v;
  if (v.least <= -beyond) v.overflow = true;
  if (v.known && v.overflow) return absent_sum();
  if (v.largest <= -beyond) v.finite = false;
  v.least = std::clamp(v.least, -most, most);
  v.largest = std::clamp(v.largest, -most, most);
  return v;
}

MaskSums::Values MaskSums::sum(const Values& a, const Values& b) {
  Values v;
  v.infinite = a.infinite || b.infinite;
  v.overflow = a.overflow || b.overflow;
  v.finite = a.finite && b.finite;
  v.least = a.least + b.least;
  v.largest = a.largest + b.largest;
  return v;
}

MaskSums::Values MaskSums::scaled(Op op, const Values& a, const Values& b) {
  if (op == Op::div && b.least <= 0 && b.largest >= 0) return {};
  Values v = sum(a, b);
  bool first = true;
  for (const float x : {a.least, a.largest}) {
    for (const float y : {b.least, b.largest}) {
      const float value = op == Op::mul ? x * y : x / y;
      v.least = first ? value : std::min(v.least, value);
      v.largest = first ? value : std::max(v.largest, value);
      first = false;
    }
  }
  return v;
}

MaskSums::Values MaskSums::larger(const Values& a, const Values& b) {
  if (!a.finite) return b;
  if (!b.finite) return a;
  Values v;
  v.infinite = a.infinite && b.infinite;
  v.overflow = a.may_be_absent() && b.may_be_absent() && (a.overflow || b.overflow);
  v.least = std::max(a.least, b.least);
  if (a.may_be_absent()) v.least = b.least;
  if (b.may_be_absent()) v.least = a.may_be_absent() ? std::min(a.least, b.least) : a.least;
  v.largest = std::max(a.largest, b.largest);
  return v;
}

MaskSums::Values MaskSums::apply(Op op, const std::vector<Values>& x) {
  if (std::all_of(x.begin(), x.end(), [](const Values& v) { return v.known; })) {
    std::vector<float> operands;
    bool infinite = false;  // by the model's numbers alone
    bool overflow = false;
    for (const Values& v : x) {
      operands.push_back(v.least);
      infinite = infinite || (!v.finite && !v.overflow);
      overflow = overflow || v.overflow;
    }
    const Values v = one(evaluate(op, operands));
    return v.infinite && (overflow || !infinite) ? absent_sum() : v;
  }
  switch (op) {
    case Op::add:
      return sum(x[0], x[1]);
    case Op::sub:
    case Op::neg: {
      Values negated = x.back();
      std::swap(negated.least, negated.largest);
      negated.least = -negated.least;
      negated.largest = -negated.largest;
      return op == Op::neg ? negated : sum(x[0], negated);
    }
    case Op::mul:
    case Op::div:
      return scaled(op, x[0], x[1]);
    case Op::max:
      return larger(x[0], x[1]);
    case Op::min: {
      Values v = any_of(x[0], x[1]);
      v.finite = x[0].finite && x[1].finite;
      return v;
    }
    case Op::where:
      if (x[0].known) return x[x[0].least != 0 ? 1 : 2];
      return any_of(x[1], x[2]);
    case Op::f16:
      return bounded(x[0], ElementType::f16);
    case Op::bf16:
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return x[0];
    case Op::leaky_relu:
      return any_of(x[0], scaled(Op::mul, x[0], x[1]));
    default:  // finite, also of -inf (tanh, exp), or none of what makes scores
      return {};
  }
}

/// Of all values of a tensor that no statement makes, or whose values are kept.
MaskSums::Values MaskSums::given(TensorId tensor) const {
  const Draft& d = draft_.tensors[static_cast<size_t>(tensor)];
  const ConstantTensor* kept = d.data ? d.data.get() : d.values.get();
  if (kept == nullptr && d.tensor.role != Role::input) return {};
  const Facts facts = kept != nullptr ? facts_of(*kept) : d.tensor.facts;
  Values v;
  if (std::isfinite(facts.least) && std::isfinite(facts.largest) && facts.least <= facts.largest) {
    v.least = facts.least;
    v.largest = facts.largest;
    return v;
  }
  if (kept == nullptr) return {};
  const auto add = [&](float value) {
    if (std::isfinite(value)) {
      v.least = std::min(v.least, value);
      v.largest = std::max(v.largest, value);
    }
    v.infinite = v.infinite || value == -std::numeric_limits<float>::infinity();
  };
  if (kept->sparse()) {
    for (const float value : kept->entries().values) add(value);
  } else {
    for (int64_t i = 0; i < kept->size(); ++i) add(kept->as_float(i));
  }
  return v;
}

/// Of a statement's result; `read` gives an access's.
template <typename Read>
MaskSums::Values MaskSums::evaluate_statement(const Statement& s, const Read& read) const {
  std::vector<Values> nodes;
  for (const Expr& node : s.nodes) {
    Values v;
    if (node.kind == Expr::Kind::constant) v = one(node.constant);
    if (node.kind == Expr::Kind::access) v = read(node);
    if (node.kind == Expr::Kind::apply) {
      std::vector<Values> x;
      for (const int32_t c : node.children) x.push_back(nodes[static_cast<size_t>(c)]);
      v = bounded(apply(node.op, x), ElementType::f32);
    }
    nodes.push_back(v);
  }
  return bounded(nodes.back(), draft_.tensors[static_cast<size_t>(s.result)].tensor.type);
}

/// Along which dimensions of a statement's result what is known of it differs.
std::vector<bool> MaskSums::depends_on(const Statement& s) const {
  std::set<IndexId> used;
  for (const Expr& node : s.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    const std::vector<bool>& depends = depends_[static_cast<size_t>(node.tensor)];
    for (size_t d = 0; d < depends.size(); ++d) {
      if (!depends[d]) continue;
      for (const auto& [index, c] : node.subscripts[d].terms) used.insert(index);
    }
  }
  std::vector<bool> result;
  for (const IndexId i : s.result_indices) result.push_back(used.contains(i));
  return result;
}

MaskSums::MaskSums(const DraftProgram& draft)
    : draft_(draft),
      makers_(draft.tensors.size(), nullptr),
      values_(draft.tensors.size()),
      depends_(draft.tensors.size()) {
  for (size_t t = 0; t < draft.tensors.size(); ++t) {
    const Draft& d = draft.tensors[t];
    values_[t] = given(static_cast<TensorId>(t));
    depends_[t].assign(d.shape.size(), d.data != nullptr || d.values != nullptr);
  }
  for (const DraftStatement& made : draft.statements) {
    const Statement& s = made.statement;
    const auto t = static_cast<size_t>(s.result);
    makers_[t] = &s;
    if (draft.tensors[t].values) continue;
    values_[t] = evaluate_statement(s, [&](const Expr& e) {
      const auto read = static_cast<size_t>(e.tensor);
      return draft.tensors[read].read_outside ? any_of(values_[read], one(0)) : values_[read];
    });
    values_[t].known = false;
    if (!values_[t].unknown()) depends_[t] = depends_on(s);
  }
}

/// An element of a tensor; all of them where that takes too long.
MaskSums::Values MaskSums::at(TensorId tensor, const std::vector<int64_t>& coordinates, int depth) {
  ++steps_;
  const auto t = static_cast<size_t>(tensor);
  const Draft& d = draft_.tensors[t];
  for (size_t k = 0; k < coordinates.size(); ++k) {
    if (coordinates[k] < 0 || coordinates[k] >= d.shape[k]) return one(0);
  }
  if (const ConstantTensor* kept = d.data ? d.data.get() : d.values.get()) {
    int64_t position = 0;
    for (size_t k = 0; k < coordinates.size(); ++k)
      position = position * d.shape[k] + coordinates[k];
    return one(kept->as_float(position));
  }
  const Statement* s = makers_[t];
  if (s == nullptr || values_[t].unknown() || steps_ > kMaxSteps || depth > kMaxDepth)
    return values_[t];
  std::vector<int64_t> place(s->indices.size(), 0);
  for (size_t k = 0; k < coordinates.size(); ++k)
    place[static_cast<size_t>(s->result_indices[k])] = coordinates[k];
  return evaluate_statement(*s, [&](const Expr& e) {
    std::vector<int64_t> inner;
    for (const Subscript& subscript : e.subscripts) {
      inner.push_back(subscript.offset);
      for (const auto& [index, c] : subscript.terms)
        inner.back() += c * place[static_cast<size_t>(index)];
    }
    return at(e.tensor, inner, depth + 1);
  });
}

/// What a maximum reads at `place`.
MaskSums::Values MaskSums::entry(const Expr& scores, const std::vector<int64_t>& place) {
  std::vector<int64_t> coordinates;
  for (const Subscript& s : scores.subscripts)
    coordinates.push_back(place[static_cast<size_t>(s.plain())]);
  return at(scores.tensor, coordinates);
}

/// Whether `found` holds for an entry of the row at `place`, which stays there: often that of the
/// next row is there, too.
template <typename Found>
bool MaskSums::some_entry(const Statement& maximum, const std::vector<IndexId>& inner,
                          std::vector<int64_t>& place, Found&& found) {
  if (found(entry(maximum.nodes[0], place))) return true;
  for (const IndexId i : inner) place[static_cast<size_t>(i)] = 0;
  do {
    if (found(entry(maximum.nodes[0], place))) return true;
  } while (next_place(maximum, inner, place));
  return false;
}

/// The indices of a maximum along which what is known of its scores differs: those of rows, added
/// to `rows`, and those within a row.
std::vector<IndexId> MaskSums::entries_of(const Statement& maximum,
                                          std::vector<IndexId>& rows) const {
  const Expr& scores = maximum.nodes[0];
  const auto& over = maximum.root().over;
  const std::vector<bool>& depends = depends_[static_cast<size_t>(scores.tensor)];
  std::vector<IndexId> inner;
  for (size_t d = 0; d < depends.size(); ++d) {
    if (!depends[d]) continue;
    const IndexId i = scores.subscripts[d].plain();
    const bool reduced = std::find(over.begin(), over.end(), i) != over.end();
    std::vector<IndexId>& kind = reduced ? inner : rows;
    if (std::find(kind.begin(), kind.end(), i) == kind.end()) kind.push_back(i);
  }
  return inner;
}

bool MaskSums::open_rows_meet(const Statement& maximum, const RowScan& scan,
                              const LeastMaximum& least) {
  const auto plain = [](const Subscript& s) { return s.is_plain(); };
  const auto& subscripts = maximum.nodes[0].subscripts;
  if (!std::all_of(subscripts.begin(), subscripts.end(), plain)) return true;
  std::vector<IndexId> rows = scan.rows;
  const std::vector<IndexId> inner = entries_of(maximum, rows);
  const auto meets = [&](const Values& v) { return v.finite && least.met_by(v.largest); };
  steps_ = 0;
  std::vector<int64_t> place(maximum.indices.size(), 0);
  do {
    int64_t row = 0;
    for (size_t r = 0; r < scan.rows.size(); ++r)
      row = row * scan.extents[r] + place[static_cast<size_t>(scan.rows[r])];
    if (scan.open[static_cast<size_t>(row)] && !some_entry(maximum, inner, place, meets))
      return false;
  } while (next_place(maximum, rows, place));
  return true;
}

MaskOverflow MaskSums::overflow(const Statement& maximum) {
  const Expr& scores = maximum.nodes[0];
  if (!values_[static_cast<size_t>(scores.tensor)].overflow) return MaskOverflow::none;
  for (const Subscript& s : scores.subscripts) {
    if (!s.is_plain()) return MaskOverflow::rows;
    if (maximum.indices[static_cast<size_t>(s.plain())].extent == 0) return MaskOverflow::none;
  }
  std::vector<IndexId> rows;
  const std::vector<IndexId> inner = entries_of(maximum, rows);
  steps_ = 0;
  std::vector<int64_t> place(maximum.indices.size(), 0);
  do {
    bool overflow = false;
    const bool finite = some_entry(maximum, inner, place, [&](const Values& v) {
      overflow = overflow || v.overflow;
      return v.finite && !v.may_be_absent();
    });
    if (!finite && overflow) return MaskOverflow::rows;
  } while (next_place(maximum, rows, place));
  return MaskOverflow::entries;
}

}  // namespace fuseflow
