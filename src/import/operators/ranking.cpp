// TopK, and what gathers or scatters by its indices. An element's rank is the number of elements
// that come before it: larger ones, and equal ones at lower places. What is taken is found by its
// rank, and what goes back to where it came from stays there: a comparison of the rank, not a move.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/wrapping.h"

namespace fuseflow {

namespace {

constexpr int kOther = 1000;            // label of the elements that one is compared with
constexpr int kTaken = 1001;            // label of those that are taken
constexpr int64_t kLongestAxis = 8192;  // of n elements n * n pairs are compared

std::vector<int> labels_with(int rank, int dim, int label) {
  std::vector<int> labels = all_labels(rank);
  labels[static_cast<size_t>(dim)] = label;
  return labels;
}

View ranks_of(NodeImport& node, const View& x, int dim, bool largest) {
  Kernel k = node.kernel();
  const std::vector<int> labels = all_labels(x.rank());
  const int here = k.operand(x, labels);
  const int there = k.operand(x, labels_with(x.rank(), dim, kOther));
  const int32_t value = k.use(here);
  const int32_t other = k.use(there);
  const int32_t before = k.apply(largest ? Op::gt : Op::lt, {other, value});
  const int32_t equal = k.apply(Op::eq, {k.use(there), k.use(here)});
  const int32_t lower = k.apply(Op::lt, {k.coordinate(kOther), k.coordinate(dim)});
  const int32_t tie = k.apply(Op::logical_and, {equal, lower});
  const int32_t counted =
      k.apply(Op::where, {k.apply(Op::logical_or, {before, tie}), k.constant(1), k.constant(0)});
  // Constants of a type of whole numbers are compared as such: f32 does not tell all of them apart.
  const bool whole = is_integer(x.type) && node.importer().is_constant(x);
  const ElementType type = whole ? ElementType::i64 : ElementType::f32;
  return node.helper("rank", k.result(labels, k.reduce(Reduction::sum, {kOther}, counted), type));
}

/// The elements that are taken, one after another: those of `data`, or (null) their places.
View taken(NodeImport& node, const Ranking& r, const View* data) {
  const int rank = r.ranks->rank();
  Kernel k = node.kernel();
  k.declare(kTaken, r.count);
  const int o = k.operand(*r.ranks, all_labels(rank));
  const int d = data != nullptr ? k.operand(*data, all_labels(rank)) : -1;
  const int32_t chosen = k.apply(Op::eq, {k.use(o), k.coordinate(kTaken)});
  const int32_t value = data != nullptr ? k.use(d) : k.coordinate(r.dim);
  const int32_t picked = k.apply(Op::where, {chosen, value, k.constant(0)});
  const int32_t root = k.reduce(Reduction::sum, {r.dim}, picked);
  std::vector<int> labels = labels_with(rank, r.dim, r.count == 1 ? -1 : kTaken);
  return k.result(labels, root, data != nullptr ? data->type : ElementType::i64);
}

void top_k(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() == 0) node.reject("expected a tensor of rank 1 or more");
  const std::vector<int64_t> count = node.has_input(1)
                                         ? node.ints_input(1, "the number of elements")
                                         : std::vector{node.integer("k", 0)};
  if (count.size() != 1) node.reject("expected one number of elements k");
  const int dim = node.axis(node.integer("axis", -1), x.rank());
  const int64_t n = x.extent(dim);
  const int64_t k = count[0];
  if (k < 1 || k > n) node.reject(fmt::format("cannot take {} of {} elements", k, n));
  if (n > kLongestAxis) {
    node.reject(
        fmt::format("an axis of {} elements is too long: each is compared with all others, "
                    "expected at most {}",
                    n, kLongestAxis));
  }
  const bool largest = node.integer("largest", 1) != 0;
  node.ignore({"sorted"});  // in any order is also in order
  Ranking ranking{std::make_shared<const View>(x),
                  std::make_shared<const View>(ranks_of(node, x, dim, largest)), dim, k, false};
  if (node.has_output(0)) {
    node.define(0, taken(node, ranking, &x));
    node.rank_output(0, ranking);
  }
  if (node.has_output(1)) {
    ranking.indices = true;
    node.define(1, taken(node, ranking, nullptr));
    node.rank_output(1, ranking);
  }
}

/// The ranking whose indices input 1 is; null if it is none.
const Ranking* ranked_by(const NodeImport& node, const View& data, int axis) {
  const Ranking* r = node.input(1).ranking.get();
  if (r == nullptr || !r->indices) return nullptr;
  if (r->dim != axis || r->ranks->shape() != data.shape()) {
    node.reject(
        fmt::format("the indices of a TopK along axis {} of [{}] are used along axis {} of "
                    "[{}], expected the same",
                    r->dim, fmt::join(r->ranks->shape(), ","), axis, fmt::join(data.shape(), ",")));
  }
  return r;
}

/// The number that all elements are, if they are constant, equal, and one that f32 has.
std::optional<float> one_number(const NodeImport& node, int input) {
  const ConstantPtr data = node.try_constant(input);
  if (!data || data->size() == 0) return std::nullopt;
  if (data->integral() && integer_of(data->as_float(0)) != data->as_int(0)) return std::nullopt;
  for (int64_t i = 1; i < data->size(); ++i) {
    const bool equal = data->integral() ? data->as_int(i) == data->as_int(0)
                                        : data->as_float(i) == data->as_float(0);
    if (!equal) return std::nullopt;
  }
  return data->as_float(0);
}

/// What arrives at each place, 0 where nothing does.
View arriving(NodeImport& node, const Ranking& r, const View& updates) {
  const int rank = r.ranks->rank();
  Kernel k = node.kernel();
  k.declare(kTaken, r.count);
  const int o = k.operand(*r.ranks, all_labels(rank));
  const int u = k.operand(updates, labels_with(rank, r.dim, kTaken));
  const int32_t chosen = k.apply(Op::eq, {k.use(o), k.coordinate(kTaken)});
  const int32_t picked = k.apply(Op::where, {chosen, k.use(u), k.constant(0)});
  return k.result(all_labels(rank), k.reduce(Reduction::sum, {kTaken}, picked), updates.type);
}

}  // namespace

bool gather_ranked(NodeImport& node) {
  const View& data = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  const Ranking* r = ranked_by(node, data, axis);
  if (r == nullptr) return false;
  node.define(0, taken(node, *r, &data));
  return true;
}

bool scatter_ranked(NodeImport& node, bool add) {
  const View& data = node.input(0);
  const View& updates = node.input(2);
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  const Ranking* r = ranked_by(node, data, axis);
  if (r == nullptr) return false;
  if (updates.shape() != node.input(1).shape()) node.reject("indices and updates do not fit");
  const std::optional<float> old = one_number(node, 0);
  const std::optional<float> number = one_number(node, 2);
  const bool same = updates.ranking && updates.ranking->ranks == r->ranks;
  const bool zero = old && *old == 0;
  std::optional<View> fresh;
  if (same) {
    fresh = *r->source;  // what was taken goes back to where it was
  } else if (!number) {
    fresh = arriving(node, *r, updates);
    if (!zero) fresh = node.helper("arriving", std::move(*fresh));
  }
  if (zero && fresh && !same) {
    node.define(0, std::move(*fresh));
    return node.importer().mark_thinned(node.importer().value(node.output_name(0))), true;
  }
  const std::vector<int> labels = all_labels(data.rank());
  Kernel k = node.kernel();
  const int o = k.operand(*r->ranks, labels);
  const int f = fresh ? k.operand(*fresh, labels) : -1;
  const int d = old ? -1 : k.operand(data, labels);
  const int32_t here = k.apply(Op::lt, {k.use(o), k.constant(static_cast<float>(r->count))});
  const int32_t before = old ? k.constant(*old) : k.use(d);
  int32_t value = fresh ? k.use(f) : k.constant(*number);
  if (add) value = k.apply(Op::add, {value, old ? k.constant(*old) : k.use(d)});
  define_computed(node, k, labels, k.apply(Op::where, {here, value, before}), data.type);
  if (zero) node.importer().mark_thinned(node.importer().value(node.output_name(0)));
  return true;
}

namespace {

constexpr OperatorRow kRankingRows[] = {
    {"TopK", top_k, "k that is not constant; axes longer than 8192; an order among NaN"},
};

}  // namespace

std::span<const OperatorRow> ranking_operators() {
  return kRankingRows;
}

}  // namespace fuseflow
