// A dimension that is no loop of its own gives an equation, place = sum of loops. It is solved for
// a loop that has the coefficient 1 or -1; else it is a condition.
#include "linalg/out_places.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "support/error.h"

namespace fuseflow {

namespace {

/// to += c * factor
void accumulate_product(int64_t& to, int64_t c, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(c, factor, &product) || __builtin_add_overflow(to, product, &to))
    throw Error(ExitCode::rejected,
                "maps whose coefficients exceed 63 bits once they are solved for its loops; "
                "expected smaller ones");
}

void add_scaled(Subscript& to, const Subscript& s, int64_t factor) {
  accumulate_product(to.offset, s.offset, factor);
  for (const auto& [label, c] : s.terms) {
    auto found = std::find_if(to.terms.begin(), to.terms.end(),
                              [&, l = label](const auto& t) { return t.first == l; });
    if (found == to.terms.end()) found = to.terms.insert(found, {label, 0});
    accumulate_product(found->second, c, factor);
  }
  std::erase_if(to.terms, [](const auto& t) { return t.second == 0; });
}

class OutSolver {
 public:
  OutSolver(const LinalgOp& op, std::vector<Subscript> map, const std::vector<int64_t>& shape)
      : op_(op), map_(std::move(map)), shape_(shape) {}

  OutPlaces run();

 private:
  void name_loops();
  void solve(size_t dim);
  void solve_for(int loop, const Subscript& value);
  /// Whether each of `rest` follows from a condition of its own.
  bool determine_rest();
  int64_t extent(int loop) const { return op_.loops[static_cast<size_t>(loop)]; }
  bool is_open(int label) const {
    return label < kPlacedDim && !kept_.contains(label) && !result_.solved.contains(label);
  }

  const LinalgOp& op_;
  std::vector<Subscript> map_;
  const std::vector<int64_t>& shape_;
  OutPlaces result_;
  std::set<int> kept_;
};

void OutSolver::name_loops() {
  std::set<int> named;
  for (size_t d = 0; d < map_.size(); ++d) {
    Subscript& s = map_[d];
    std::erase_if(s.terms, [&](const auto& t) { return extent(t.first) == 1; });
    for (const auto& [loop, c] : s.terms) named.insert(loop);
    const bool unit = s.terms.empty() && s.offset == 0 && shape_[d] == 1;
    const bool whole =
        s.is_plain() && extent(s.plain()) == shape_[d] && kept_.insert(s.plain()).second;
    result_.labels.push_back(unit    ? -1
                             : whole ? static_cast<int>(s.plain())
                                     : kPlacedDim + static_cast<int>(d));
  }
  result_.named.assign(named.begin(), named.end());
}

void OutSolver::solve_for(int loop, const Subscript& value) {
  const std::map<int, Subscript> found{{loop, value}};
  for (auto& [other, s] : result_.solved) s = over_labels(s, found);
  for (PlaceCondition& condition : result_.conditions)
    condition.value = over_labels(condition.value, found);
  result_.solved.emplace(loop, value);
  result_.conditions.push_back({value, 0, extent(loop) - 1});
}

void OutSolver::solve(size_t dim) {
  Subscript rest = over_labels(map_[dim], result_.solved);
  const auto term = std::find_if(rest.terms.begin(), rest.terms.end(), [&](const auto& t) {
    return is_open(t.first) && (t.second == 1 || t.second == -1);
  });
  const Subscript place{{{static_cast<IndexId>(kPlacedDim + dim), 1}}, 0};
  if (term == rest.terms.end()) {
    add_scaled(rest, place, -1);
    result_.conditions.push_back({rest, 0, 0});
    return;
  }
  const auto [loop, sign] = *term;
  rest.terms.erase(term);
  Subscript value;
  add_scaled(value, place, sign);
  add_scaled(value, rest, -sign);
  solve_for(loop, value);
}

bool OutSolver::determine_rest() {
  std::set<int> left(result_.rest.begin(), result_.rest.end());
  for (size_t c = 0; c < result_.conditions.size(); ++c) {
    const PlaceCondition& condition = result_.conditions[c];
    std::vector<std::pair<IndexId, int64_t>> open;
    for (const auto& term : condition.value.terms) {
      if (left.contains(term.first)) open.push_back(term);
    }
    // Steps that are longer than the range come into it once.
    if (open.size() != 1 || std::abs(open[0].second) <= condition.high - condition.low) continue;
    left.erase(open[0].first);
    result_.determined.emplace_back(open[0].first, c);
  }
  return left.empty();
}

OutPlaces OutSolver::run() {
  name_loops();
  for (size_t d = 0; d < map_.size(); ++d) {
    if (result_.labels[d] >= kPlacedDim) solve(d);
  }
  for (size_t l = 0; l < op_.loops.size(); ++l) {
    const auto loop = static_cast<int>(l);
    if (is_open(loop) && extent(loop) > 1) result_.rest.push_back(loop);
  }
  result_.once = determine_rest();
  return std::move(result_);
}

}  // namespace

Subscript over_labels(const Subscript& over_loops, const std::map<int, Subscript>& solved) {
  Subscript result;
  result.offset = over_loops.offset;
  for (const auto& [loop, c] : over_loops.terms) {
    const auto found = solved.find(loop);
    add_scaled(result, found == solved.end() ? Subscript{{{loop, 1}}, 0} : found->second, c);
  }
  return result;
}

OutPlaces out_places(const LinalgOp& op, size_t r, const std::vector<int64_t>& shape) {
  if (!op.outs.empty()) return OutSolver(op, op.outs[r].map, shape).run();
  std::vector<Subscript> all;
  for (size_t l = 0; l < op.loops.size(); ++l)
    all.push_back(Subscript{{{static_cast<IndexId>(l), 1}}, 0});
  return OutSolver(op, all, op.loops).run();
}

}  // namespace fuseflow
