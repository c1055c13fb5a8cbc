// A body as an expression over the kernel's indices; reduction loops as reductions.
#include "linalg/structured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/statement_rules.h"
#include "linalg/accumulate.h"
#include "linalg/live.h"
#include "linalg/place_range.h"
#include "linalg/regroup.h"
#include "linalg/scalar_ops.h"

namespace fuseflow {

namespace {

/// Labels of the dimensions of extent 1 that operands have, and of those that data choose.
constexpr int kUnit = 100000;
constexpr int kChosen = 200000;
/// Nodes of an expression when everything shared is written out.
constexpr int64_t kLargestTree = 20000;
/// Some operations become several, one in another: half of what a statement may have.
constexpr int kDeepestTree = kMaxExpressionDepth / 2;
/// No tensor has so many elements; larger places are outside, too.
constexpr float kFarthest = 4e18F;

bool is_unit(const Subscript& s) {
  return s.terms.empty();
}

class StructuredOp {
 public:
  StructuredOp(LinalgValues& values, const LinalgOp& op, int group)
      : values_(values), op_(op), group_(group), kernel_(op.name) {}

  View result(size_t r);

 private:
  const LinalgOperand& operand(int32_t n) const {
    const auto inputs = static_cast<int32_t>(op_.inputs.size());
    return n < inputs ? op_.inputs[static_cast<size_t>(n)]
                      : op_.outs[static_cast<size_t>(n - inputs)];
  }
  int32_t out_number(size_t r) const { return static_cast<int32_t>(op_.inputs.size() + r); }
  const LinalgValue& value_of(LinalgId id) const {
    return values_.function.values[static_cast<size_t>(id)];
  }
  bool is_integral(ElementType type) const {
    return is_integer(type) && type != ElementType::boolean;
  }

  void prepare(const std::vector<int32_t>& roots, const std::vector<int32_t>& more);
  void declare_operand(int32_t n);
  void declare_chosen();
  /// Refuses bodies that are no expression of ours; bounds the recursion of all that follows.
  void check_size() const;
  Subscript over_indices(const Subscript& map);
  int32_t use(int32_t operand);
  /// Refuses tensor.extract at places outside of dimension `d`.
  void check_place(const Subscript& place, LinalgId id, size_t d) const;
  int32_t expression(int32_t node);
  int32_t applied(const BodyNode& node);
  int32_t element(int32_t n);
  std::optional<Subscript> affine(int32_t node) const;
  std::vector<int> result_labels(size_t r) const;
  std::vector<int> reduced_loops(size_t r) const;
  int32_t accumulated(size_t r, const Accumulation& parts);
  /// `value` combined with what the out held before.
  int32_t with_start(size_t r, Reduction reduction, int32_t value);
  bool neutral_start(LinalgId id, Reduction reduction) const;
  View chosen_place(size_t r, const ArgumentChoice& choice);
  void note_undefined(LinalgId id);

  LinalgValues& values_;
  const LinalgOp& op_;
  int group_;
  Kernel kernel_;
  bool plain_ = true;  ///< every operand is read by single loops
  std::vector<bool> needed_;
  std::map<int32_t, int> handles_;     ///< by operand: its number in the kernel
  std::map<int32_t, View> simple_;     ///< by operand, where not plain
  std::map<LinalgId, View> elements_;  ///< tensors that bodies read by place
  std::map<int32_t, int32_t> made_;    ///< by body node
};

void StructuredOp::note_undefined(LinalgId id) {
  const auto at = static_cast<size_t>(id);
  if (!values_.undefined[at] || values_.noted[at]) return;
  values_.noted[at] = true;
  report(Severity::note,
         fmt::format("mlir: {}:{}: {} begins with elements of tensor.empty, which nothing defines; "
                     "they count as 0",
                     op_.where.file, op_.where.line, op_.name));
}

void StructuredOp::check_size() const {
  std::vector<int64_t> size(op_.body.size(), 1);
  std::vector<int> depth(op_.body.size(), 1);
  for (size_t n = 0; n < size.size(); ++n) {
    for (const int32_t child : op_.body[n].children) {
      size[n] = std::min(kLargestTree + 1, size[n] + size[static_cast<size_t>(child)]);
      depth[n] = std::max(depth[n], depth[static_cast<size_t>(child)] + 1);
    }
  }
  for (const int32_t root : op_.yields) {
    if (depth[static_cast<size_t>(root)] > kDeepestTree)
      refuse_linalg(op_, fmt::format("its body is nested deeper than {} operations, expected "
                                     "several linalg operations",
                                     kDeepestTree));
    if (size[static_cast<size_t>(root)] > kLargestTree)
      refuse_linalg(op_, fmt::format("its body is an expression of more than {} operations, "
                                     "expected several linalg operations",
                                     kLargestTree));
  }
}

std::optional<Subscript> StructuredOp::affine(int32_t n) const {
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  Subscript s;
  if (node.kind == BodyNode::Kind::constant) {
    s.offset = static_cast<int64_t>(std::clamp(node.constant, -kFarthest, kFarthest));
    return s;
  }
  if (node.kind == BodyNode::Kind::index) {
    s.terms.emplace_back(node.loop, 1);
    return s;
  }
  if (node.kind != BodyNode::Kind::apply) return std::nullopt;
  if (is_conversion(node.op)) return affine(node.children[0]);
  if (node.children.size() != 2) return std::nullopt;
  const auto a = affine(node.children[0]);
  const auto b = affine(node.children[1]);
  if (!a || !b) return std::nullopt;
  // Places of 2^31 and more are in no tensor that is stored; smaller numbers cannot overflow.
  const auto is_small = [](const Subscript& x) {
    constexpr int64_t kFar = int64_t{1} << 31;
    return std::abs(x.offset) < kFar &&
           std::all_of(x.terms.begin(), x.terms.end(),
                       [](const auto& t) { return std::abs(t.second) < kFar; });
  };
  if (!is_small(*a) || !is_small(*b)) return std::nullopt;
  const auto scaled = [](Subscript x, int64_t factor) {
    x.offset *= factor;
    for (auto& term : x.terms) term.second *= factor;
    return x;
  };
  if (node.op == "arith.muli") {
    if (a->terms.empty()) return scaled(*b, a->offset);
    return b->terms.empty() ? std::optional(scaled(*a, b->offset)) : std::nullopt;
  }
  if (node.op != "arith.addi" && node.op != "arith.subi") return std::nullopt;
  const Subscript right = scaled(*b, node.op == "arith.subi" ? -1 : 1);
  s = *a;
  s.offset += right.offset;
  for (const auto& term : right.terms) {
    const auto same = std::find_if(s.terms.begin(), s.terms.end(),
                                   [&](const auto& t) { return t.first == term.first; });
    if (same == s.terms.end())
      s.terms.push_back(term);
    else
      same->second += term.second;
  }
  std::erase_if(s.terms, [](const auto& t) { return t.second == 0; });
  return s;
}

void StructuredOp::declare_operand(int32_t n) {
  const LinalgOperand& read = operand(n);
  if (handles_.contains(n) || simple_.contains(n)) return;
  note_undefined(read.value);
  View view = values_.at(read.value);
  if (!plain_) {
    simple_.emplace(n, single_atoms(values_, view, values_.name(read.value), group_));
    return;
  }
  std::vector<int> labels;
  for (size_t d = 0; d < read.map.size(); ++d)
    labels.push_back(is_unit(read.map[d]) ? kUnit + 64 * n + static_cast<int>(d)
                                          : read.map[d].plain());
  handles_[n] = kernel_.operand(view, std::move(labels));
}

/// Dimensions that data choose are walked over, and the chosen element is taken.
void StructuredOp::declare_chosen() {
  for (size_t n = 0; n < op_.body.size(); ++n) {
    const BodyNode& node = op_.body[n];
    if (!needed_[n] || node.kind != BodyNode::Kind::element) continue;
    const View& view = values_.at(node.value);
    note_undefined(node.value);
    if (!elements_.contains(node.value))
      elements_.emplace(node.value, single_atoms(values_, view, values_.name(node.value), group_));
    for (size_t d = 0; d < node.children.size(); ++d) {
      if (affine(node.children[d])) continue;
      kernel_.declare(kChosen + 64 * static_cast<int>(n) + static_cast<int>(d),
                      view.extent(static_cast<int>(d)));
    }
  }
}

void StructuredOp::prepare(const std::vector<int32_t>& roots, const std::vector<int32_t>& more) {
  needed_ = needed_nodes(op_, roots);
  std::vector<int32_t> used = more;
  for (size_t n = 0; n < op_.body.size(); ++n) {
    const BodyNode& node = op_.body[n];
    if (!needed_[n]) continue;
    if (node.kind == BodyNode::Kind::operand) used.push_back(node.operand);
    if (node.kind == BodyNode::Kind::element && !node.children.empty()) plain_ = false;
  }
  for (const int32_t n : used) {
    const LinalgOperand& read = operand(n);
    const auto& shape = value_of(read.value).shape;
    for (size_t d = 0; d < read.map.size(); ++d) {
      const Subscript& s = read.map[d];
      const bool unit = is_unit(s) && s.offset == 0 && shape[d] == 1;
      const bool whole = s.is_plain() && op_.loops[static_cast<size_t>(s.plain())] == shape[d];
      plain_ = plain_ && (unit || whole);
    }
  }
  for (size_t l = 0; l < op_.loops.size(); ++l) kernel_.declare(static_cast<int>(l), op_.loops[l]);
  for (const int32_t n : used) declare_operand(n);
  declare_chosen();
}

Subscript StructuredOp::over_indices(const Subscript& map) {
  Subscript s;
  s.offset = map.offset;
  for (const auto& [loop, c] : map.terms) {
    if (kernel_.extent(loop) != 1) s.terms.emplace_back(kernel_.index(loop), c);
  }
  return s;
}

int32_t StructuredOp::use(int32_t n) {
  if (plain_) return kernel_.use(handles_.at(n));
  std::vector<Subscript> subscripts;
  for (const Subscript& s : operand(n).map) subscripts.push_back(over_indices(s));
  return kernel_.use_at(simple_.at(n), subscripts);
}

void StructuredOp::check_place(const Subscript& place, LinalgId id, size_t d) const {
  const int64_t extent = value_of(id).shape[d];
  const auto range = places_of(place, op_.loops);
  if (!range || range->low < 0 || range->high >= extent)
    refuse_linalg(op_, fmt::format("tensor.extract reads outside of dimension {} of %{}, which has "
                                   "{} elements",
                                   d, value_of(id).name, extent));
}

int32_t StructuredOp::element(int32_t n) {
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  const View& view = elements_.at(node.value);
  std::vector<Subscript> subscripts;
  std::vector<int> chosen;
  int32_t condition = -1;
  for (size_t d = 0; d < node.children.size(); ++d) {
    if (const auto place = affine(node.children[d])) {
      check_place(*place, node.value, d);
      subscripts.push_back(over_indices(*place));
      continue;
    }
    const int label = kChosen + 64 * n + static_cast<int>(d);
    chosen.push_back(label);
    Subscript s;
    if (kernel_.extent(label) != 1) s.terms.emplace_back(kernel_.index(label), 1);
    subscripts.push_back(s);
    const int32_t here =
        kernel_.apply(Op::eq, {expression(node.children[d]), kernel_.coordinate(label)});
    condition = condition < 0 ? here : kernel_.apply(Op::logical_and, {condition, here});
  }
  const int32_t value = kernel_.use_at(view, subscripts);
  if (condition < 0) return value;
  const int32_t taken = kernel_.apply(Op::where, {condition, value, kernel_.constant(0)});
  return kernel_.reduce(Reduction::sum, chosen, taken);
}

int32_t StructuredOp::applied(const BodyNode& node) {
  if (node.op == "arith.select") {
    // select(x > 0, x, 0) is relu, NaN counting as larger.
    const BodyNode& test = op_.body[static_cast<size_t>(node.children[0])];
    const auto zero = [&](int32_t n) {
      const BodyNode& x = op_.body[static_cast<size_t>(n)];
      return x.kind == BodyNode::Kind::constant && x.constant == 0;
    };
    if (test.kind == BodyNode::Kind::apply && is_unordered_greater(test.op) &&
        node.children[1] == test.children[0] && zero(test.children[1]) && zero(node.children[2]))
      return kernel_.apply(Op::relu, {expression(node.children[1])});
  }
  std::vector<int32_t> operands;
  for (const int32_t child : node.children) operands.push_back(expression(child));
  const auto value = scalar_op(kernel_, node.op, operands, is_integral(node.type));
  if (!value)
    refuse_linalg(op_, fmt::format("its body has {}, which has no meaning here; expected "
                                   "arithmetic that ir-spec/linalg.md lists",
                                   node.op));
  return *value;
}

int32_t StructuredOp::expression(int32_t n) {
  const auto found = made_.find(n);
  if (found != made_.end()) return found->second;
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  int32_t made = -1;
  switch (node.kind) {
    case BodyNode::Kind::operand:
      made = use(node.operand);
      break;
    case BodyNode::Kind::constant:
      made = kernel_.constant(node.constant);
      break;
    case BodyNode::Kind::index:
      made = kernel_.coordinate(node.loop);
      break;
    case BodyNode::Kind::apply:
      made = applied(node);
      break;
    case BodyNode::Kind::element:
      made = element(n);
      break;
  }
  made_[n] = made;
  return made;
}

std::vector<int> StructuredOp::result_labels(size_t r) const {
  std::vector<int> labels;
  if (op_.outs.empty()) {  // computed from its place alone
    for (size_t l = 0; l < op_.loops.size(); ++l) labels.push_back(static_cast<int>(l));
    return labels;
  }
  const LinalgOperand& out = op_.outs[r];
  const auto& shape = value_of(out.value).shape;
  for (size_t d = 0; d < out.map.size(); ++d) {
    const Subscript& s = out.map[d];
    const bool unit = is_unit(s) && s.offset == 0 && shape[d] == 1;
    const bool seen =
        s.is_plain() && std::find(labels.begin(), labels.end(), s.plain()) != labels.end();
    if ((!unit && !s.is_plain()) || seen)
      refuse_linalg(op_,
                    "writes to a part of its result, or by sums of loops; expected a map of "
                    "its out that names each dimension's loop (tensor.insert_slice writes "
                    "parts)");
    labels.push_back(unit ? -1 : s.plain());
  }
  return labels;
}

std::vector<int> StructuredOp::reduced_loops(size_t r) const {
  const std::vector<int> kept = result_labels(r);
  std::vector<int> reduced;
  for (size_t l = 0; l < op_.loops.size(); ++l) {
    const auto loop = static_cast<int>(l);
    if (std::find(kept.begin(), kept.end(), loop) != kept.end()) continue;
    if (!op_.reduces[l] && op_.loops[l] != 1)
      refuse_linalg(op_, fmt::format("loop d{} is parallel and no dimension of its result", l));
    reduced.push_back(loop);
  }
  return reduced;
}

bool StructuredOp::neutral_start(LinalgId id, Reduction reduction) const {
  const View& start = values_.at(id);
  if (start.nodes.size() != 1 || start.nodes[0].kind != Expr::Kind::constant) return false;
  const float value = start.nodes[0].constant;
  if (value == identity(reduction)) return true;
  // The least number of an integer type, or of f32, begins maxima as well as -inf does.
  constexpr float kLeast = std::numeric_limits<float>::lowest();
  const bool whole = is_integral(value_of(id).type);
  if (reduction == Reduction::max) return value <= (whole ? -2147483648.0F : kLeast);
  if (reduction == Reduction::min) return value >= (whole ? 2147483648.0F : -kLeast);
  return false;
}

int32_t StructuredOp::with_start(size_t r, Reduction reduction, int32_t value) {
  const LinalgId start = op_.outs[r].value;
  if (neutral_start(start, reduction)) return value;
  const Op op = reduction == Reduction::sum    ? Op::add
                : reduction == Reduction::prod ? Op::mul
                : reduction == Reduction::max  ? Op::max
                                               : Op::min;
  return kernel_.apply(op, {use(out_number(r)), value});
}

int32_t StructuredOp::accumulated(size_t r, const Accumulation& parts) {
  int32_t body = -1;
  for (const Accumulation::Part& part : parts.terms) {
    int32_t term = expression(part.node);
    if (part.negated && body >= 0) {
      body = kernel_.apply(Op::sub, {body, term});
      continue;
    }
    if (part.negated) term = kernel_.apply(Op::neg, {term});
    const Op op = parts.reduction == Reduction::sum    ? Op::add
                  : parts.reduction == Reduction::prod ? Op::mul
                  : parts.reduction == Reduction::max  ? Op::max
                                                       : Op::min;
    body = body < 0 ? term : kernel_.apply(op, {body, term});
  }
  if (parts.guard >= 0) {
    const int32_t neutral = kernel_.constant(identity(parts.reduction));
    const int32_t condition = expression(parts.guard);
    body = parts.unless ? kernel_.apply(Op::where, {condition, neutral, body})
                        : kernel_.apply(Op::where, {condition, body, neutral});
  }
  return with_start(r, parts.reduction, kernel_.reduce(parts.reduction, reduced_loops(r), body));
}

/// The place of an extreme element: the first (or last) of those that equal it.
View StructuredOp::chosen_place(size_t r, const ArgumentChoice& choice) {
  const LinalgOperand& best_out = op_.outs[choice.best];
  const LinalgId best_id = op_.results[choice.best];
  if (!values_.views[static_cast<size_t>(best_id)])
    values_.views[static_cast<size_t>(best_id)] =
        structured_result(values_, op_, choice.best, group_);
  const auto best = accumulation(op_, op_.yields[choice.best], out_number(choice.best));
  if (!neutral_start(best_out.value, best->reduction) || best->guard >= 0)
    refuse_linalg(op_, "begins with a value, expected -inf for a maximum and inf for a minimum");
  const int32_t element = best->terms[0].node;
  prepare({element, choice.place}, {});
  // The extreme is read like the out in its place.
  const View extreme = single_atoms(values_, values_.at(best_id), values_.name(best_id), group_);
  int handle = -1;
  if (plain_) {
    std::vector<int> labels;
    for (size_t d = 0; d < best_out.map.size(); ++d)
      labels.push_back(is_unit(best_out.map[d]) ? kUnit + 64 * 1000 + static_cast<int>(d)
                                                : best_out.map[d].plain());
    handle = kernel_.operand(extreme, std::move(labels));
  }
  int32_t value = -1;
  if (plain_) {
    value = kernel_.use(handle);
  } else {
    std::vector<Subscript> subscripts;
    for (const Subscript& s : best_out.map) subscripts.push_back(over_indices(s));
    value = kernel_.use_at(extreme, subscripts);
  }
  const float none = choice.last ? -std::numeric_limits<float>::infinity()
                                 : std::numeric_limits<float>::infinity();
  const int32_t equal = kernel_.apply(Op::eq, {expression(element), value});
  const int32_t place =
      kernel_.apply(Op::where, {equal, expression(choice.place), kernel_.constant(none)});
  const int32_t root =
      kernel_.reduce(choice.last ? Reduction::max : Reduction::min, reduced_loops(r), place);
  return kernel_.result(result_labels(r), root, value_of(op_.results[r]).type);
}

View StructuredOp::result(size_t r) {
  check_size();
  const int32_t root = op_.yields[r];
  const ElementType type = value_of(op_.results[r]).type;
  const std::vector<int> labels = result_labels(r);
  int64_t rounds = 1;
  for (const int loop : reduced_loops(r)) rounds *= op_.loops[static_cast<size_t>(loop)];
  const bool reads_out = !op_.outs.empty() && depends_on(op_, root, out_number(r));
  if (rounds == 1) {
    prepare({root}, {});
    return kernel_.result(labels, expression(root), type);
  }
  if (!reads_out)
    refuse_linalg(op_,
                  "a reduction loop overwrites the result, of which the last round is left; "
                  "expected a body that combines its out argument with something new");
  if (const auto parts = accumulation(op_, root, out_number(r))) {
    std::vector<int32_t> roots;
    for (const Accumulation::Part& part : parts->terms) roots.push_back(part.node);
    if (parts->guard >= 0) roots.push_back(parts->guard);
    std::vector<int32_t> more;
    if (!neutral_start(op_.outs[r].value, parts->reduction)) more.push_back(out_number(r));
    prepare(roots, more);
    return kernel_.result(labels, accumulated(r, *parts), type);
  }
  if (const auto choice = argument_choice(op_, r)) return chosen_place(r, *choice);
  refuse_linalg(op_,
                "its body combines its out argument in a way that is no sum, product, maximum "
                "or minimum of something new; expected one of these (an arg max: "
                "select(new > best, place, place so far) beside its maximum)");
}

}  // namespace

void refuse_linalg(const LinalgOp& op, const std::string& why) {
  throw Error(ExitCode::rejected, op.where, op.name + ": " + why);
}

View define_linalg(LinalgValues& values, LinalgId id, View value, int group) {
  const LinalgValue& made = values.function.values[static_cast<size_t>(id)];
  value.type = made.type;
  View result =
      values.importer.append(made.name.empty() ? "t" : made.name, std::move(value), group);
  values.importer.declare_format(result, made.format);
  return result;
}

View single_atoms(LinalgValues& values, const View& value, const std::string& name, int group) {
  View simple = value;
  coalesce(simple);
  if (std::all_of(simple.dims.begin(), simple.dims.end(),
                  [](const auto& dim) { return dim.size() < 2; }))
    return simple;
  return values.importer.append(name + ".regrouped", regrouped_view(simple, simple.shape()), group);
}

View structured_result(LinalgValues& values, const LinalgOp& op, size_t r, int group) {
  View value = StructuredOp(values, op, group).result(r);
  // One number everywhere stays a number where it is read.
  const bool number = value.nodes.size() == 1 && value.nodes[0].kind == Expr::Kind::constant;
  if (number) return value;
  return define_linalg(values, op.results[r], std::move(value), group);
}

}  // namespace fuseflow
