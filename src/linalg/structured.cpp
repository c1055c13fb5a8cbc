// Results of structured operations: the rounds of reduction loops become reductions, and results
// that are written in parts choose.
#include "linalg/structured.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/statement_rules.h"
#include "linalg/accumulate.h"
#include "linalg/body_expression.h"
#include "linalg/live.h"
#include "linalg/own_indices.h"
#include "linalg/regroup.h"
#include "linalg/scalar_ops.h"
#include "tensor/element_type.h"

namespace fuseflow {

namespace {

/// Rounds that are written out one after the other, and the nodes and the depth of what comes out.
constexpr int64_t kMostRounds = 64;
constexpr int64_t kMostNodesInOrder = 20000;
constexpr int64_t kDeepestInOrder = kMaxExpressionDepth / 2;

/// Nodes of a result's expression.
constexpr int64_t kMostNodesWritten = 100000;

Op combining_op(Reduction reduction) {
  if (reduction == Reduction::sum) return Op::add;
  if (reduction == Reduction::prod) return Op::mul;
  return reduction == Reduction::max ? Op::max : Op::min;
}

/// Result `r` of an operation.
class StructuredResult {
 public:
  StructuredResult(LinalgValues& values, const LinalgOp& op, size_t r, int group)
      : values_(values),
        op_(op),
        r_(r),
        group_(group),
        root_(op.yields[r]),
        made_(value_of(op.results[r])),
        places_(out_places(op, r, made_.shape)),
        body_(values, op, group) {}

  View value();

 private:
  const LinalgValue& value_of(LinalgId id) const {
    return values_.function.values[static_cast<size_t>(id)];
  }
  int32_t out_number(size_t r) const { return static_cast<int32_t>(op_.inputs.size() + r); }
  Kernel& kernel() { return body_.kernel(); }
  void prepare(const std::vector<int32_t>& roots, const std::vector<int32_t>& more,
               int32_t carried = -1) {
    body_.prepare(places_, made_.shape, roots, more, carried);
  }
  View result(int32_t root) { return kernel().result(places_.labels, root, made_.type); }
  /// The loops whose rounds are combined to an element.
  std::vector<int> reduced_loops() const;
  /// The number that every element of the out has before, if there is one.
  std::optional<float> uniform_start(size_t r) const;
  bool neutral_start(size_t r, const Accumulation& parts) const;
  /// Whether it may be that no round counts.
  bool may_stay(const Accumulation& parts) const {
    return parts.guard >= 0 || !places_.conditions.empty();
  }
  int32_t combined(const Accumulation& parts, int32_t a, int32_t b);
  /// `value` combined with what the out held before.
  int32_t with_start(const Accumulation& parts, int32_t value);
  /// The node of the sparse_tensor.reduce (BodyNode::skips) that gives result `r`, if one does.
  const BodyNode* reduce_of(size_t r) const;
  /// That of this result, if it is all that a round adds.
  const BodyNode* skipping(const Accumulation& parts) const;
  /// What a round adds where it writes.
  int32_t added_by(const Accumulation& parts);
  /// What a round adds to an element.
  int32_t round_of(const Accumulation& parts);
  void prepare_rounds(const Accumulation& parts, bool with_start);
  View accumulated(const Accumulation& parts);
  /// `reduction` of what `make` gives for each round, as a tensor of its own.
  template <typename Make>
  View helper(const char* suffix, const Accumulation& parts, Reduction reduction, const Make& make);
  View unsigned_extreme(const Accumulation& parts);
  /// An element that is there only where some of its rounds count (BodyNode::skips).
  View counted(const Accumulation& parts);
  bool counts_rounds(const Accumulation& parts) const;
  /// Rounds that write one element each.
  int32_t written_once();
  /// The results that this one needs, whose outs several rounds write: they have to be made
  /// together, each round with what all have so far. Begins with this one.
  std::vector<size_t> made_together() const;
  /// Whether rounds can be written out in order for these.
  bool are_few_rounds(const std::vector<size_t>& together) const;
  /// Rounds that are written out in order, each with what the one before gives; the last one alone
  /// where none reads that.
  View in_order(const std::vector<size_t>& together);
  /// 1 where the places of a choice increase from round to round, -1 where they decrease; else 0.
  int way_of(const ArgumentChoice& choice);
  /// Whether the element that is chosen can be found again, by its value.
  bool is_found(const ArgumentChoice& choice);
  /// Whether an extreme is better than what it begins with.
  int32_t better_than(const Accumulation& best, int32_t value, float start);
  View chosen_place(const ArgumentChoice& choice);
  [[noreturn]] void refuse_rounds(bool alone, bool reads_out) const;

  LinalgValues& values_;
  const LinalgOp& op_;
  size_t r_;
  int group_;
  int32_t root_;
  const LinalgValue& made_;
  OutPlaces places_;
  BodyExpression body_;
};

std::vector<int> StructuredResult::reduced_loops() const {
  const auto among = [](const std::vector<int>& loops, int loop) {
    return std::find(loops.begin(), loops.end(), loop) != loops.end();
  };
  std::vector<int> reduced;
  for (const int loop : places_.rest) {
    if (!op_.reduces[static_cast<size_t>(loop)] && !among(places_.named, loop))
      refuse_linalg(op_,
                    fmt::format("loop d{} is parallel and no dimension of its result; expected a "
                                "reduction loop",
                                loop));
    reduced.push_back(loop);
  }
  return reduced;
}

std::optional<float> StructuredResult::uniform_start(size_t r) const {
  const View& start = values_.at(op_.outs[r].value);
  if (start.nodes.size() != 1 || start.nodes[0].kind != Expr::Kind::constant) return std::nullopt;
  return start.nodes[0].constant;
}

bool StructuredResult::neutral_start(size_t r, const Accumulation& parts) const {
  const std::optional<float> value = uniform_start(r);
  if (!value) return false;
  if (*value == identity(parts.reduction) && !parts.of_unsigned) return true;
  // The least integer of a type begins maxima as well as -inf does, if any round counts.
  const ElementType type = value_of(op_.outs[r].value).type;
  if (may_stay(parts) || !is_integer(type)) return false;
  if (parts.of_unsigned) return *value == (parts.reduction == Reduction::max ? 0.0F : -1.0F);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (parts.reduction == Reduction::max) return *value <= rounded(-kInf, type);
  return parts.reduction == Reduction::min && *value >= rounded(kInf, type);
}

int32_t StructuredResult::combined(const Accumulation& parts, int32_t a, int32_t b) {
  if (!parts.of_unsigned) return kernel().apply(combining_op(parts.reduction), {a, b});
  const int32_t less = unsigned_less(kernel(), a, b);
  return parts.reduction == Reduction::max ? kernel().apply(Op::where, {less, b, a})
                                           : kernel().apply(Op::where, {less, a, b});
}

const BodyNode* StructuredResult::reduce_of(size_t r) const {
  const std::vector<bool> needed = needed_nodes(op_, {op_.yields[r]});
  for (size_t n = 0; n < needed.size(); ++n) {
    if (needed[n] && op_.body[n].skips) return &op_.body[n];
  }
  return nullptr;
}

const BodyNode* StructuredResult::skipping(const Accumulation& parts) const {
  const BodyNode& term = op_.body[static_cast<size_t>(parts.terms[0].node)];
  const bool alone = parts.terms.size() == 1 && !parts.terms[0].negated && parts.guard < 0;
  return alone && term.skips ? &term : nullptr;
}

int32_t StructuredResult::with_start(const Accumulation& parts, int32_t value) {
  if (const BodyNode* skips = reduce_of(r_)) {  // begins with its identity, whatever the out has
    const BodyNode& given = op_.body[static_cast<size_t>(skips->children[2])];
    if (given.kind == BodyNode::Kind::constant && given.constant == identity(parts.reduction))
      return value;
    return combined(parts, body_.expression(skips->children[2]), value);
  }
  if (neutral_start(r_, parts)) return value;
  const int32_t start = body_.use_at_place(out_number(r_));
  const int32_t both = combined(parts, start, value);
  if (!parts.of_unsigned || !may_stay(parts)) return both;
  // What no round gives is no unsigned number.
  const int32_t none = kernel().constant(identity(parts.reduction));
  return kernel().apply(Op::where, {kernel().apply(Op::eq, {value, none}), start, both});
}

int32_t StructuredResult::added_by(const Accumulation& parts) {
  const int32_t neutral = kernel().constant(identity(parts.reduction));
  if (const BodyNode* skips = skipping(parts)) {
    const int32_t there = body_.expression(skips->children[0]);
    return kernel().apply(Op::where, {there, body_.expression(skips->children[1]), neutral});
  }
  int32_t body = -1;
  for (const Accumulation::Part& part : parts.terms) {
    int32_t term = body_.expression(part.node);
    if (parts.skips_nan)
      term = kernel().apply(Op::where, {kernel().apply(Op::isnan, {term}), neutral, term});
    if (part.negated && body >= 0) {
      body = kernel().apply(Op::sub, {body, term});
      continue;
    }
    if (part.negated) term = kernel().apply(Op::neg, {term});
    body = body < 0 ? term : combined(parts, body, term);
  }
  if (parts.guard < 0) return body;
  const int32_t condition = body_.expression(parts.guard);
  return parts.unless ? kernel().apply(Op::where, {condition, neutral, body})
                      : kernel().apply(Op::where, {condition, body, neutral});
}

int32_t StructuredResult::round_of(const Accumulation& parts) {
  const int32_t body = added_by(parts);
  const int32_t here = body_.written();
  if (here < 0) return body;
  return kernel().apply(Op::where, {here, body, kernel().constant(identity(parts.reduction))});
}

void StructuredResult::prepare_rounds(const Accumulation& parts, bool with_start) {
  std::vector<int32_t> roots;
  for (const Accumulation::Part& part : parts.terms) roots.push_back(part.node);
  if (parts.guard >= 0) roots.push_back(parts.guard);
  std::vector<int32_t> more;
  const bool reads_out = with_start && reduce_of(r_) == nullptr && !neutral_start(r_, parts);
  if (reads_out) more.push_back(out_number(r_));
  prepare(roots, more);
}

View StructuredResult::accumulated(const Accumulation& parts) {
  prepare_rounds(parts, true);
  const int32_t body = round_of(parts);
  const int32_t value = with_start(parts, kernel().reduce(parts.reduction, reduced_loops(), body));
  const bool grows = parts.reduction == Reduction::sum || parts.reduction == Reduction::prod;
  return result(grows ? wrapped_number(kernel(), value, made_.type) : value);
}

template <typename Make>
View StructuredResult::helper(const char* suffix, const Accumulation& parts, Reduction reduction,
                              const Make& make) {
  StructuredResult other(values_, op_, r_, group_);
  other.prepare_rounds(parts, false);
  const int32_t body = make(other);
  View view = other.result(other.kernel().reduce(reduction, reduced_loops(), body));
  view.type = ElementType::f32;
  return values_.importer.append(values_.name(op_.results[r_]) + suffix, std::move(view), group_);
}

/// An index is reduced once in a statement: what the sign decides is one of its own.
View StructuredResult::unsigned_extreme(const Accumulation& parts) {
  const View first = helper(".by_sign", parts, parts.reduction, [&](StructuredResult& other) {
    return by_sign(other.kernel(), parts.reduction, other.round_of(parts));
  });
  prepare_rounds(parts, true);
  const int32_t found = body_.use_like(first, out_number(r_));
  const int32_t none = kernel().constant(identity(parts.reduction));
  const int32_t of_all = kernel().reduce(parts.reduction, reduced_loops(), round_of(parts));
  const int32_t there = kernel().apply(Op::ne, {found, none});
  return result(with_start(parts, kernel().apply(Op::where, {there, found, of_all})));
}

bool StructuredResult::counts_rounds(const Accumulation& parts) const {
  const bool sparse = made_.format && !made_.format->all_dense();
  return sparse && skipping(parts) != nullptr && places_.conditions.empty();
}

View StructuredResult::counted(const Accumulation& parts) {
  const View count = helper(".counts", parts, Reduction::max, [&](StructuredResult& other) {
    return other.body_.expression(skipping(parts)->children[0]);
  });
  prepare_rounds(parts, false);
  const int32_t any = body_.use_like(count, out_number(r_));
  const int32_t of_rounds = kernel().reduce(parts.reduction, reduced_loops(), round_of(parts));
  const int32_t value = with_start(parts, of_rounds);
  return result(kernel().apply(Op::where, {any, value, kernel().constant(0)}));
}

int32_t StructuredResult::written_once() {
  int32_t value = body_.expression(root_);
  const int32_t here = body_.written();
  if (here < 0) return value;
  int32_t written = here;
  if (!places_.rest.empty()) {
    const int32_t of_round = kernel().apply(Op::where, {here, value, kernel().constant(0)});
    value = kernel().reduce(Reduction::sum, places_.rest, of_round);
    written = body_.written_by_some();
  }
  return kernel().apply(Op::where, {written, value, body_.use_at_place(out_number(r_))});
}

int StructuredResult::way_of(const ArgumentChoice& choice) {
  const auto place = body_.affine(choice.place);
  if (!place) return 0;
  bool up = true;
  bool down = true;
  int64_t inner = 0;  // how far the loops inside of this one go
  for (size_t l = places_.rest.size(); l-- > 0;) {
    const int loop = places_.rest[l];
    const auto term = std::find_if(place->terms.begin(), place->terms.end(),
                                   [&](const auto& t) { return t.first == loop; });
    const int64_t step = term == place->terms.end() ? 0 : term->second;
    up = up && step > inner;
    down = down && -step > inner;
    int64_t distance = 0;
    const int64_t rounds = op_.loops[static_cast<size_t>(loop)] - 1;
    if (__builtin_mul_overflow(std::abs(step), rounds, &distance) ||
        __builtin_add_overflow(inner, distance, &inner))
      return 0;
  }
  return up ? 1 : down ? -1 : 0;
}

bool StructuredResult::is_found(const ArgumentChoice& choice) {
  const auto best = accumulation(op_, op_.yields[choice.best], out_number(choice.best));
  const auto start = uniform_start(choice.best);
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const bool least =
      start && (best->reduction == Reduction::max ? *start <= kLowest : *start >= -kLowest);
  return places_.conditions.empty() && best->guard < 0 &&
         (least || neutral_start(choice.best, *best)) && way_of(choice) != 0;
}

int32_t StructuredResult::better_than(const Accumulation& best, int32_t value, float start) {
  int32_t less = kernel().constant(start);
  int32_t more = value;
  if (best.reduction == Reduction::min) std::swap(less, more);
  return best.of_unsigned ? unsigned_less(kernel(), less, more)
                          : kernel().apply(Op::lt, {less, more});
}

/// The place of an extreme element: the first (or last) of those that equal it. Where none is
/// better than the start, that of the start.
View StructuredResult::chosen_place(const ArgumentChoice& choice) {
  const LinalgId best_id = op_.results[choice.best];
  std::optional<View>& best_view = values_.views[static_cast<size_t>(best_id)];
  if (!best_view) best_view = structured_result(values_, op_, choice.best, group_);
  const auto best = accumulation(op_, op_.yields[choice.best], out_number(choice.best));
  const int32_t element = best->terms[0].node;
  const int32_t out = out_number(static_cast<size_t>(r_));
  prepare({element, choice.place}, {out});
  // The extreme is read like the out in its place.
  const View extreme = single_atoms(values_, *best_view, values_.name(best_id), group_);
  const int32_t value = body_.use_like(extreme, out_number(choice.best));
  const bool largest = choice.last == (way_of(choice) > 0);
  const float none =
      largest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  const int32_t equal = kernel().apply(Op::eq, {body_.expression(element), value});
  const int32_t place =
      kernel().apply(Op::where, {equal, body_.expression(choice.place), kernel().constant(none)});
  const int32_t found =
      kernel().reduce(largest ? Reduction::max : Reduction::min, reduced_loops(), place);
  const int32_t any = choice.last ? kernel().apply(Op::ne, {found, kernel().constant(none)})
                                  : better_than(*best, value, *uniform_start(choice.best));
  return result(kernel().apply(Op::where, {any, found, body_.use_at_place(out)}));
}

std::vector<size_t> StructuredResult::made_together() const {
  std::vector<size_t> together{r_};
  for (size_t next = 0; next < together.size(); ++next) {
    for (size_t other = 0; other < op_.outs.size(); ++other) {
      if (std::find(together.begin(), together.end(), other) != together.end()) continue;
      if (!depends_on(op_, op_.yields[together[next]], out_number(other))) continue;
      const OutPlaces places = out_places(op_, other, value_of(op_.outs[other].value).shape);
      if (!places.rest.empty() && !places.once) together.push_back(other);
    }
  }
  return together;
}

bool StructuredResult::are_few_rounds(const std::vector<size_t>& together) const {
  for (const size_t other : together) {
    if (op_.outs[other].map != op_.outs[r_].map) return false;
  }
  if (!depends_on(op_, root_, out_number(r_)) && together.size() == 1) return true;  // the last one
  int64_t rounds = 1;
  for (const int loop : places_.rest) {
    if (op_.loops[static_cast<size_t>(loop)] > kMostRounds) return false;
    rounds *= op_.loops[static_cast<size_t>(loop)];
    if (rounds > kMostRounds) return false;
  }
  // The nodes of the body, and how often and how deep it reads results so far.
  std::vector<int32_t> roots;
  for (const size_t other : together) roots.push_back(op_.yields[other]);
  const std::vector<bool> needed = needed_nodes(op_, roots);
  std::vector<int64_t> nodes(op_.body.size(), 1);
  std::vector<int64_t> reads(op_.body.size(), 0);
  std::vector<int64_t> depth(op_.body.size(), 1);
  for (size_t n = 0; n < op_.body.size(); ++n) {
    if (!needed[n]) continue;
    const BodyNode& node = op_.body[n];
    for (const size_t other : together) {
      if (node.kind == BodyNode::Kind::operand && node.operand == out_number(other)) reads[n] = 1;
    }
    for (const int32_t child : node.children) {
      nodes[n] += nodes[static_cast<size_t>(child)];
      reads[n] += reads[static_cast<size_t>(child)];
      depth[n] = std::max(depth[n], depth[static_cast<size_t>(child)] + 1);
    }
  }
  const auto largest = [&](const std::vector<int64_t>& of_nodes) {
    int64_t most = 0;
    for (const int32_t root : roots) most = std::max(most, of_nodes[static_cast<size_t>(root)]);
    return most;
  };
  int64_t all = 1;
  for (int64_t round = 0; round < rounds; ++round) {
    all = largest(nodes) + largest(reads) * all;
    if (all > kMostNodesInOrder) return false;
  }
  return largest(depth) * rounds <= kDeepestInOrder;
}

View StructuredResult::in_order(const std::vector<size_t>& together) {
  const std::vector<int> loops = reduced_loops();
  const auto extent = [&](int loop) { return op_.loops[static_cast<size_t>(loop)]; };
  const bool all_rounds = together.size() > 1 || depends_on(op_, root_, out_number(r_));
  std::map<int, int64_t> round;
  const auto set = [&](int loop, int64_t number) {
    round[loop] = number;
    body_.set_round(loop, number);
  };
  for (const int loop : loops) set(loop, all_rounds ? 0 : extent(loop) - 1);
  std::vector<int32_t> roots;
  for (const size_t other : together) roots.push_back(op_.yields[other]);
  prepare(roots, {});
  std::map<int32_t, int32_t> so_far;
  for (const size_t other : together) {  // a sparse_tensor.reduce begins with its identity
    if (const BodyNode* reduce = reduce_of(other))
      so_far[out_number(other)] = body_.expression(reduce->children[2]);
  }
  body_.replace_operands(so_far);
  for (bool more = true; more;) {
    std::map<int32_t, int32_t> made;
    for (const size_t other : together)
      made[out_number(other)] = body_.expression(op_.yields[other]);
    so_far = std::move(made);
    body_.replace_operands(so_far);
    more = false;
    for (size_t l = loops.size(); l-- > 0 && !more;) {  // the last loop is the innermost
      const int64_t next = round[loops[l]] + 1;
      more = next < extent(loops[l]);
      set(loops[l], more ? next : 0);
    }
  }
  return result(so_far.at(out_number(r_)));
}

void StructuredResult::refuse_rounds(bool alone, bool reads_out) const {
  if (!alone)
    refuse_linalg(op_, fmt::format("its body combines what two of its results have so far; "
                                   "expected results of which each reads its own out (or an arg "
                                   "max: select(new > best, place, place so far) beside its "
                                   "maximum, with places in the order of rounds), or outs of one "
                                   "map and at most {} rounds, which are written out",
                                   kMostRounds));
  if (!reads_out)
    refuse_linalg(op_,
                  "several rounds write to one element, of which the last is left; expected a map "
                  "of its out that gives each round a place of its own, or a body that combines "
                  "its out argument with something new");
  refuse_linalg(op_,
                fmt::format("its body combines its out argument in a way that is no sum, product, "
                            "maximum or minimum of something new; expected one of these, or at "
                            "most {} rounds, which are written out",
                            kMostRounds));
}

View StructuredResult::value() {
  body_.check_size();
  const std::vector<size_t> together = op_.outs.empty() ? std::vector<size_t>{r_} : made_together();
  const bool alone = together.size() == 1;
  const bool whole = places_.conditions.empty();
  const int32_t out = out_number(r_);
  const bool reads_out = depends_on(op_, root_, out);
  if (alone) {
    if (whole && reduced_loops().empty()) {
      prepare({root_}, {});
      return result(body_.expression(root_));
    }
    if (!whole && places_.once) {
      prepare({root_}, {out}, reads_out ? -1 : out);
      return result(written_once());
    }
    if (const auto parts = accumulation(op_, root_, out)) {
      if (counts_rounds(*parts)) return counted(*parts);
      return parts->of_unsigned ? unsigned_extreme(*parts) : accumulated(*parts);
    }
  } else if (const auto choice = argument_choice(op_, r_); choice && is_found(*choice)) {
    return chosen_place(*choice);
  }
  if (whole && are_few_rounds(together)) return in_order(together);
  refuse_rounds(alone, reads_out);
}

/// Refuses expressions that are too long once everything that they share is written out, as a
/// statement has it: some operations become several, which use an operand more than once.
void check_written_out(const LinalgOp& op, const View& value) {
  std::vector<int64_t> size;
  for (const Expr& e : value.nodes) {
    size.push_back(1);
    for (const int32_t child : e.children)
      size.back() = std::min(kMostNodesWritten + 1, size.back() + size[static_cast<size_t>(child)]);
  }
  if (size.back() > kMostNodesWritten)
    refuse_linalg(op, fmt::format("its body is an expression of more than {} operations, expected "
                                  "several linalg operations",
                                  kMostNodesWritten));
}

}  // namespace

void refuse_linalg(const LinalgOp& op, const std::string& why) {
  throw Error(ExitCode::rejected, op.where, op.name + ": " + why);
}

void check_counted(const LinalgOp& op, int64_t extent) {
  constexpr int64_t kMostCounted = int64_t{1} << 24;
  if (extent > kMostCounted)
    refuse_linalg(op, fmt::format("the number of a place in a dimension of {} is used, of which "
                                  "f32 holds those up to {}; expected a smaller dimension",
                                  extent, kMostCounted));
}

View define_linalg(LinalgValues& values, LinalgId id, View value, int group) {
  LinalgValue made = values.function.values[static_cast<size_t>(id)];
  // Entries that are computed are written below their rows; nothing writes lists of coordinates.
  if (made.format)
    std::replace(made.format->levels.begin(), made.format->levels.end(), LevelKind::singleton,
                 LevelKind::compressed);
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
  View value = StructuredResult(values, op, r, group).value();
  check_written_out(op, value);
  give_own_indices(value);
  // One number everywhere stays a number where it is read.
  const bool number = value.nodes.size() == 1 && value.nodes[0].kind == Expr::Kind::constant;
  if (number) return value;
  return define_linalg(values, op.results[r], std::move(value), group);
}

}  // namespace fuseflow
