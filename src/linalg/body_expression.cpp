// Operands are read by the labels of their loops where that is all that they need; else by
// subscripts, from tensors whose dimensions are single indices.
#include "linalg/body_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/statement_rules.h"
#include "linalg/live.h"
#include "linalg/place_range.h"
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
/// Masks of bits that f32 holds.
constexpr float kFewBits = 0x1p24F;
/// No tensor has so many elements; larger places are outside, too.
constexpr int64_t kFarthest = int64_t{1} << 61;

bool is_unit(const Subscript& s) {
  return s.terms.empty();
}

}  // namespace

void BodyExpression::note_undefined(LinalgId id) {
  const auto at = static_cast<size_t>(id);
  if (!values_.undefined[at] || values_.noted[at]) return;
  values_.noted[at] = true;
  report(Severity::note,
         fmt::format("mlir: {}:{}: {} begins with elements of tensor.empty, which nothing defines; "
                     "they count as 0",
                     op_.where.file, op_.where.line, op_.name));
}

void BodyExpression::check_size() const {
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

std::optional<Subscript> BodyExpression::affine(int32_t n) const {
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  Subscript s;
  if (node.kind == BodyNode::Kind::constant) {
    if (!node.integer) return std::nullopt;
    s.offset = std::clamp(*node.integer, -kFarthest, kFarthest);
    return s;
  }
  if (node.kind == BodyNode::Kind::index) {
    s.terms.emplace_back(node.loop, 1);
    return s;
  }
  if (node.kind != BodyNode::Kind::apply) return std::nullopt;
  const bool narrow = is_integer(node.type) && element_bytes(node.type) < 4;
  if (is_conversion(node.op) && !narrow) return affine(node.children[0]);
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

std::vector<int> BodyExpression::labels_of_map(int32_t n) const {
  std::vector<int> labels;
  const auto& map = operand(n).map;
  for (size_t d = 0; d < map.size(); ++d)
    labels.push_back(is_unit(map[d]) ? kUnit + 64 * n + static_cast<int>(d) : map[d].plain());
  return labels;
}

void BodyExpression::declare_operand(int32_t n) {
  if (handles_.contains(n) || simple_.contains(n)) return;
  const LinalgId id = operand(n).value;
  const View& view = values_.at(id);
  if (plain_)
    handles_[n] = kernel_.operand(view, labels_of_map(n));
  else
    simple_.emplace(n, single_atoms(values_, view, values_.name(id), group_));
}

/// Dimensions that data choose are walked over, and the chosen element is taken.
void BodyExpression::declare_chosen() {
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

void BodyExpression::prepare(const OutPlaces& places, const std::vector<int64_t>& extents,
                             const std::vector<int32_t>& roots, const std::vector<int32_t>& more,
                             int32_t carried) {
  places_ = places;
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
  plain_ = plain_ && places_.conditions.empty() && rounds_.empty();
  for (size_t l = 0; l < op_.loops.size(); ++l) {
    const auto loop = static_cast<int>(l);
    if (!places_.solved.contains(loop) && !rounds_.contains(loop))
      kernel_.declare(loop, op_.loops[l]);
  }
  for (size_t d = 0; d < places_.labels.size(); ++d) {
    if (places_.labels[d] >= kPlacedDim) kernel_.declare(places_.labels[d], extents[d]);
  }
  for (const int32_t n : used) {
    declare_operand(n);
    if (n != carried) note_undefined(operand(n).value);
  }
  declare_chosen();
}

Subscript BodyExpression::over_indices(const Subscript& map) {
  Subscript s;
  const Subscript known = over_labels(map, places_.solved);
  s.offset = known.offset;
  for (const auto& [label, c] : known.terms) {
    const auto fixed = rounds_.find(label);
    if (fixed != rounds_.end())
      s.offset += c * fixed->second;
    else if (kernel_.extent(label) != 1)
      s.terms.emplace_back(kernel_.index(label), c);
  }
  return s;
}

std::vector<Subscript> BodyExpression::over_indices(const std::vector<Subscript>& map) {
  std::vector<Subscript> subscripts;
  subscripts.reserve(map.size());
  for (const Subscript& s : map) subscripts.push_back(over_indices(s));
  return subscripts;
}

int32_t BodyExpression::use(int32_t n) {
  if (plain_) return kernel_.use(handles_.at(n));
  return kernel_.use_at(simple_.at(n), over_indices(operand(n).map));
}

std::vector<Subscript> BodyExpression::place() const {
  std::vector<Subscript> subscripts;
  for (const int label : places_.labels)
    subscripts.push_back(label < 0 ? Subscript{} : Subscript{{{label, 1}}, 0});
  return subscripts;
}

int32_t BodyExpression::use_at_place(int32_t out) {
  if (places_.conditions.empty()) return use(out);
  return kernel_.use_at(simple_.at(out), over_indices(place()));
}

int32_t BodyExpression::use_like(const View& value, int32_t out) {
  if (plain_) return kernel_.use(kernel_.operand(value, labels_of_map(out)));
  return kernel_.use_at(value, over_indices(place()));
}

void BodyExpression::set_round(int loop, int64_t number) {
  rounds_[loop] = number;
  made_.clear();
}

void BodyExpression::replace_operands(std::map<int32_t, int32_t> values) {
  replaced_ = std::move(values);
  made_.clear();
}

void BodyExpression::check_place(const Subscript& place, LinalgId id, size_t d) const {
  const int64_t extent = value_of(id).shape[d];
  const auto range = places_of(place, op_.loops);
  if (!range || range->low < 0 || range->high >= extent)
    refuse_linalg(op_, fmt::format("tensor.extract reads outside of dimension {} of %{}, which has "
                                   "{} elements",
                                   d, value_of(id).name, extent));
}

int32_t BodyExpression::element(int32_t n) {
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
    const int32_t here = kernel_.apply(Op::eq, {expression(node.children[d]), coordinate(label)});
    condition = condition < 0 ? here : kernel_.apply(Op::logical_and, {condition, here});
  }
  const int32_t value = kernel_.use_at(view, subscripts);
  if (condition < 0) return value;
  const int32_t taken = kernel_.apply(Op::where, {condition, value, kernel_.constant(0)});
  return kernel_.reduce(Reduction::sum, chosen, taken);
}

bool BodyExpression::is_nonnegative(int32_t n) const {
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  if (node.kind == BodyNode::Kind::index || node.type == ElementType::boolean) return true;
  if (node.kind == BodyNode::Kind::constant) return node.constant >= 0;
  const bool grows = node.op == "arith.addi" || node.op == "arith.muli" ||
                     (is_conversion(node.op) && node.op != "arith.trunci");
  // Sums of narrow integers wrap around.
  return node.kind == BodyNode::Kind::apply && grows && element_bytes(node.type) >= 4 &&
         std::all_of(node.children.begin(), node.children.end(),
                     [&](int32_t child) { return is_nonnegative(child); });
}

ScalarTypes BodyExpression::types_of(const BodyNode& node) const {
  if (node.children.empty()) return {node.type};
  const auto known = [&](int32_t child) { return is_nonnegative(child); };
  return {node.type, op_.body[static_cast<size_t>(node.children[0])].type,
          std::all_of(node.children.begin(), node.children.end(), known)};
}

std::optional<float> BodyExpression::number_everywhere(int32_t n) const {
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  if (node.kind == BodyNode::Kind::constant) return node.constant;
  if (node.kind != BodyNode::Kind::operand || replaced_.contains(node.operand)) return std::nullopt;
  const View& view = values_.at(operand(node.operand).value);
  const bool number = view.nodes.size() == 1 && view.nodes[0].kind == Expr::Kind::constant;
  return number ? std::optional(view.nodes[0].constant) : std::nullopt;
}

std::optional<int32_t> BodyExpression::bits(const BodyNode& node) {
  const bool mask = node.op == "arith.andi";
  if ((!mask && node.op != "arith.xori") || node.type == ElementType::boolean) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const std::optional<float> known = number_everywhere(node.children[side]);
    if (!known || std::abs(*known) > kFewBits) continue;
    const auto number = static_cast<int64_t>(*known);
    const int32_t other = node.children[1 - side];
    if (!mask && number == -1)
      return kernel_.apply(Op::sub, {kernel_.constant(-1), expression(other)});
    if (mask && number >= 0 && (number & (number + 1)) == 0)
      return kernel_.apply(Op::mod,
                           {expression(other), kernel_.constant(static_cast<float>(number + 1))});
  }
  return std::nullopt;
}

int32_t BodyExpression::applied(const BodyNode& node) {
  if (const auto value = bits(node)) return *value;
  const bool tiny = node.type == ElementType::f8e4m3 || node.type == ElementType::f8e5m2;
  const auto is_node = [&](int32_t root) { return &op_.body[static_cast<size_t>(root)] == &node; };
  if (node.op == "arith.truncf" && tiny &&
      std::none_of(op_.yields.begin(), op_.yields.end(), is_node))
    refuse_linalg(op_,
                  "its body rounds to 8 bits and goes on with that; expected an operation of "
                  "its own that gives a tensor of this type");
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
  const auto value = scalar_op(kernel_, node.op, operands, types_of(node));
  if (!value)
    refuse_linalg(op_, fmt::format("its body has {}, which has no meaning here; expected "
                                   "arithmetic that ir-spec/linalg.md lists",
                                   node.op));
  return *value;
}

int32_t BodyExpression::coordinate(int label) {
  check_counted(op_, kernel_.extent(label));
  return kernel_.coordinate(label);
}

int32_t BodyExpression::number_of_loop(int loop) {
  const auto round = rounds_.find(loop);
  if (round != rounds_.end()) return kernel_.constant(static_cast<float>(round->second));
  return number_of(places_.solved.at(loop), {});
}

int32_t BodyExpression::expression(int32_t n) {
  const auto found = made_.find(n);
  if (found != made_.end()) return found->second;
  const BodyNode& node = op_.body[static_cast<size_t>(n)];
  int32_t made = -1;
  switch (node.kind) {
    case BodyNode::Kind::operand:
      made = replaced_.contains(node.operand) ? replaced_.at(node.operand) : use(node.operand);
      break;
    case BodyNode::Kind::constant:
      made = kernel_.constant(node.constant);
      break;
    case BodyNode::Kind::index:
      made = places_.solved.contains(node.loop) || rounds_.contains(node.loop)
                 ? number_of_loop(node.loop)
                 : coordinate(node.loop);
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

int32_t BodyExpression::number_of(const Subscript& sum, const std::map<int, int32_t>& loops) {
  int32_t value = sum.offset == 0 ? -1 : kernel_.constant(static_cast<float>(sum.offset));
  for (const auto& [label, c] : sum.terms) {
    const auto known = loops.find(label);
    if (known == loops.end() && kernel_.extent(label) == 1) continue;
    int32_t term = known == loops.end() ? coordinate(label) : known->second;
    const bool minus = c < 0 && value >= 0;
    const int64_t factor = minus ? -c : c;
    if (factor != 1)
      term = kernel_.apply(Op::mul, {kernel_.constant(static_cast<float>(factor)), term});
    value = value < 0 ? term : kernel_.apply(minus ? Op::sub : Op::add, {value, term});
  }
  return value < 0 ? kernel_.constant(0) : value;
}

int32_t BodyExpression::conditions_hold(const std::map<int, int32_t>& loops) {
  int32_t all = -1;
  const auto also = [&](Op op, int32_t value, int64_t bound) {
    const int32_t one = kernel_.apply(op, {value, kernel_.constant(static_cast<float>(bound))});
    all = all < 0 ? one : kernel_.apply(Op::logical_and, {all, one});
  };
  for (const PlaceCondition& condition : places_.conditions) {
    double least = static_cast<double>(condition.value.offset);
    double largest = least;
    for (const auto& [label, c] : condition.value.terms) {
      const int64_t extent =
          label < kPlacedDim ? op_.loops[static_cast<size_t>(label)] : kernel_.extent(label);
      const double way = static_cast<double>(c) * static_cast<double>(extent - 1);
      (c > 0 ? largest : least) += way;
    }
    const auto value = [&] { return number_of(condition.value, loops); };
    if (condition.low == condition.high) {
      also(Op::eq, value(), condition.low);
      continue;
    }
    if (least < static_cast<double>(condition.low)) also(Op::ge, value(), condition.low);
    if (largest > static_cast<double>(condition.high)) also(Op::le, value(), condition.high);
  }
  return all;
}

int32_t BodyExpression::written() {
  return conditions_hold({});
}

int32_t BodyExpression::written_by_some() {
  // low <= factor * loop + rest <= high for one number at most: the least that is high enough.
  std::map<int, int32_t> loops;
  int32_t within = -1;
  const auto also = [&](int32_t condition) {
    within = within < 0 ? condition : kernel_.apply(Op::logical_and, {within, condition});
  };
  for (const auto& [loop, number_of_condition] : places_.determined) {
    const PlaceCondition& condition = places_.conditions[number_of_condition];
    Subscript way = condition.value;  // to the end of the range that the loop comes from
    const auto term = std::find_if(way.terms.begin(), way.terms.end(),
                                   [l = loop](const auto& t) { return t.first == l; });
    const int64_t factor = term->second;
    way.terms.erase(term);
    way.offset -= factor > 0 ? condition.low : condition.high;
    if (factor > 0) {
      way.offset = -way.offset;
      for (auto& [label, c] : way.terms) c = -c;
    }
    const auto number = [&](int64_t n) { return kernel_.constant(static_cast<float>(n)); };
    const int32_t least = kernel_.apply(
        Op::ceil, {kernel_.apply(Op::div, {number_of(way, loops), number(std::abs(factor))})});
    also(kernel_.apply(Op::ge, {least, number(0)}));
    also(kernel_.apply(Op::lt, {least, number(op_.loops[static_cast<size_t>(loop)])}));
    loops[loop] = least;
  }
  const int32_t hold = conditions_hold(loops);
  if (hold >= 0) also(hold);
  return within;
}

}  // namespace fuseflow
