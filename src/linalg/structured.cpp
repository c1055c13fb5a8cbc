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
  bool neutral_start(size_t r, const Accumulation& parts) const;
  int32_t combined(const Accumulation& parts, int32_t a, int32_t b);
  /// `value` combined with what the out held before.
  int32_t with_start(const Accumulation& parts, int32_t value);
  /// The node of a sparse_tensor.reduce (BodyNode::skips) if that is all that a round adds.
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
  /// Rounds that are written out in order, each with what the one before gives; the last one alone
  /// where none reads that.
  View in_order();
  bool are_few_rounds() const;
  View chosen_place(const ArgumentChoice& choice);

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

bool StructuredResult::neutral_start(size_t r, const Accumulation& parts) const {
  const LinalgId id = op_.outs[r].value;
  const View& start = values_.at(id);
  if (start.nodes.size() != 1 || start.nodes[0].kind != Expr::Kind::constant) return false;
  const float value = start.nodes[0].constant;
  if (parts.of_unsigned) return value == (parts.reduction == Reduction::max ? 0.0F : -1.0F);
  if (value == identity(parts.reduction)) return true;
  // The least number of an integer type, or of f32, begins maxima as well as -inf does.
  constexpr float kLeast = std::numeric_limits<float>::lowest();
  const ElementType type = value_of(id).type;
  const bool whole = is_integer(type) && type != ElementType::boolean;
  if (parts.reduction == Reduction::max) return value <= (whole ? -2147483648.0F : kLeast);
  if (parts.reduction == Reduction::min) return value >= (whole ? 2147483648.0F : -kLeast);
  return false;
}

int32_t StructuredResult::combined(const Accumulation& parts, int32_t a, int32_t b) {
  if (!parts.of_unsigned) return kernel().apply(combining_op(parts.reduction), {a, b});
  const int32_t less = unsigned_less(kernel(), a, b);
  return parts.reduction == Reduction::max ? kernel().apply(Op::where, {less, b, a})
                                           : kernel().apply(Op::where, {less, a, b});
}

const BodyNode* StructuredResult::skipping(const Accumulation& parts) const {
  const BodyNode& term = op_.body[static_cast<size_t>(parts.terms[0].node)];
  const bool alone = parts.terms.size() == 1 && !parts.terms[0].negated && parts.guard < 0;
  return alone && term.skips ? &term : nullptr;
}

int32_t StructuredResult::with_start(const Accumulation& parts, int32_t value) {
  if (const BodyNode* skips = skipping(parts)) {  // begins with its identity, whatever the out has
    const BodyNode& given = op_.body[static_cast<size_t>(skips->children[2])];
    if (given.kind == BodyNode::Kind::constant && given.constant == identity(parts.reduction))
      return value;
    return combined(parts, body_.expression(skips->children[2]), value);
  }
  if (neutral_start(r_, parts)) return value;
  return combined(parts, body_.use_at_place(out_number(r_)), value);
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
  const bool reads_out = with_start && skipping(parts) == nullptr && !neutral_start(r_, parts);
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

/// The place of an extreme element: the first (or last) of those that equal it.
View StructuredResult::chosen_place(const ArgumentChoice& choice) {
  const LinalgId best_id = op_.results[choice.best];
  std::optional<View>& best_view = values_.views[static_cast<size_t>(best_id)];
  if (!best_view) best_view = structured_result(values_, op_, choice.best, group_);
  const auto best = accumulation(op_, op_.yields[choice.best], out_number(choice.best));
  if (!places_.conditions.empty())
    refuse_linalg(op_, "an arg max whose out map does not name a loop for each dimension");
  if (!neutral_start(choice.best, *best) || best->guard >= 0)
    refuse_linalg(op_, "begins with a value, expected -inf for a maximum and inf for a minimum");
  const int32_t element = best->terms[0].node;
  prepare({element, choice.place}, {});
  // The extreme is read like the out in its place.
  const View extreme = single_atoms(values_, *best_view, values_.name(best_id), group_);
  const int32_t value = body_.use_like(extreme, out_number(choice.best));
  const float none = choice.last ? -std::numeric_limits<float>::infinity()
                                 : std::numeric_limits<float>::infinity();
  const int32_t equal = kernel().apply(Op::eq, {body_.expression(element), value});
  const int32_t place =
      kernel().apply(Op::where, {equal, body_.expression(choice.place), kernel().constant(none)});
  return result(
      kernel().reduce(choice.last ? Reduction::max : Reduction::min, reduced_loops(), place));
}

bool StructuredResult::are_few_rounds() const {
  if (!depends_on(op_, root_, out_number(r_))) return true;  // the last one
  int64_t rounds = 1;
  for (const int loop : places_.rest) {
    if (op_.loops[static_cast<size_t>(loop)] > kMostRounds) return false;
    rounds *= op_.loops[static_cast<size_t>(loop)];
    if (rounds > kMostRounds) return false;
  }
  // The nodes of the body, and how often and how deep it reads the result so far.
  const std::vector<bool> needed = needed_nodes(op_, {root_});
  std::vector<int64_t> nodes(op_.body.size(), 1);
  std::vector<int64_t> reads(op_.body.size(), 0);
  std::vector<int64_t> depth(op_.body.size(), 1);
  for (size_t n = 0; n < op_.body.size(); ++n) {
    if (!needed[n]) continue;
    const BodyNode& node = op_.body[n];
    if (node.kind == BodyNode::Kind::operand && node.operand == out_number(r_)) reads[n] = 1;
    for (const int32_t child : node.children) {
      nodes[n] += nodes[static_cast<size_t>(child)];
      reads[n] += reads[static_cast<size_t>(child)];
      depth[n] = std::max(depth[n], depth[static_cast<size_t>(child)] + 1);
    }
  }
  const auto root = static_cast<size_t>(root_);
  int64_t all = 1;
  for (int64_t round = 0; round < rounds; ++round) {
    all = nodes[root] + reads[root] * all;
    if (all > kMostNodesInOrder) return false;
  }
  return depth[root] * rounds <= kDeepestInOrder;
}

View StructuredResult::in_order() {
  const std::vector<int> loops = reduced_loops();
  const auto extent = [&](int loop) { return op_.loops[static_cast<size_t>(loop)]; };
  const bool reads_out = depends_on(op_, root_, out_number(r_));
  std::map<int, int64_t> round;
  const auto set = [&](int loop, int64_t number) {
    round[loop] = number;
    body_.set_round(loop, number);
  };
  for (const int loop : loops) set(loop, reads_out ? 0 : extent(loop) - 1);
  prepare({root_}, {});
  int32_t value = -1;
  for (bool more = true; more;) {
    value = body_.expression(root_);
    body_.replace_operand(out_number(r_), value);
    more = false;
    for (size_t l = loops.size(); l-- > 0 && !more;) {  // the last loop is the innermost
      const int64_t next = round[loops[l]] + 1;
      more = next < extent(loops[l]);
      set(loops[l], more ? next : 0);
    }
  }
  return result(value);
}

View StructuredResult::value() {
  body_.check_size();
  const bool whole = places_.conditions.empty();
  if (whole && reduced_loops().empty()) {
    prepare({root_}, {});
    return result(body_.expression(root_));
  }
  const int32_t out = out_number(r_);
  const bool reads_out = depends_on(op_, root_, out);
  if (!whole && places_.once) {
    prepare({root_}, {out}, reads_out ? -1 : out);
    return result(written_once());
  }
  if (const auto parts = accumulation(op_, root_, out)) {
    if (counts_rounds(*parts)) return counted(*parts);
    return parts->of_unsigned ? unsigned_extreme(*parts) : accumulated(*parts);
  }
  if (const auto choice = argument_choice(op_, r_)) return chosen_place(*choice);
  if (whole && are_few_rounds()) return in_order();
  if (!reads_out)
    refuse_linalg(op_,
                  "several rounds write to one element, of which the last is left; expected a map "
                  "of its out that gives each round a place of its own, or a body that combines "
                  "its out argument with something new");
  refuse_linalg(op_,
                fmt::format("its body combines its out argument in a way that is no sum, product, "
                            "maximum or minimum of something new; expected one of these (an arg "
                            "max: select(new > best, place, place so far) beside its maximum), or "
                            "at most {} rounds, which are written out",
                            kMostRounds));
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
