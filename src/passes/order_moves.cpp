#include "passes/order_moves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lower/flops.h"
#include "lower/placements.h"

namespace fuseflow {

namespace {

/// A share of the expected steps or cycles: what is left after a move that counts.
constexpr double kMoveGain = 0.995;

/// More cycles than anything takes that fits the machine: of two orders that do not fit, the one
/// that lacks less is the cheaper one, so that moves lead to one that does.
constexpr double kTooLarge = 1e100;

std::vector<std::vector<int>> loops_by_instance(const RegionIndices& indices) {
  std::vector<std::vector<int>> loops;
  for (const Instance& instance : indices.instances) {
    std::vector<int>& own = loops.emplace_back();
    for (const Affine& map : instance.map) {
      for (const auto& term : map.terms) own.push_back(static_cast<int>(term.first));
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return loops;
}

/// `loops`: of each instance.
std::vector<std::vector<bool>> indices_by_phase(const RegionIndices& indices,
                                                const std::vector<std::vector<int>>& loops) {
  std::vector<std::vector<bool>> result;
  for (size_t i = 0; i < loops.size(); ++i) {
    const auto phase = static_cast<size_t>(indices.instances[i].phase);
    if (result.size() <= phase) {
      result.resize(phase + 1, std::vector<bool>(indices.indices.size(), false));
    }
    for (const int index : loops[i]) result[phase][static_cast<size_t>(index)] = true;
  }
  return result;
}

/// No buffers: only what flows is compared. An order that makes far more nodes than usual, used or
/// not, is refused: loops of a chain of products may be nested so that each product is made anew
/// in those of the next ones, as often as the Fibonacci numbers say.
LowerOptions flow_alone(const Region& region, KnownPhases& known) {
  LowerOptions options;
  options.buffers = false;
  options.known = &known;
  if (region.schedule.parallel.empty()) options.max_nodes = 1000 + 100 * region.statements.size();
  return options;
}

}  // namespace

OrderClimb::OrderClimb(const Program& program, size_t region, double most_effort, CostModel* model,
                       KnownPhases& known)
    : p_(program),
      at_(region),
      region_(program.regions[region]),
      model_(model),
      options_(flow_alone(region_, known)),
      lowering_(program, region, options_),
      indices_(lowering_.indices()),
      loops_(loops_by_instance(indices_)),
      most_effort_(most_effort),
      model_before_(model != nullptr ? model->effort() : 0) {}

OrderClimb::LoopNests OrderClimb::nests_of(const std::vector<int>& order) const {
  std::vector<size_t> depth(indices_.indices.size());
  for (size_t d = 0; d < order.size(); ++d) depth[static_cast<size_t>(order[d])] = d;
  LoopNests nests = loops_;
  for (std::vector<int>& nest : nests) {
    std::sort(nest.begin(), nest.end(), [&](int a, int b) {
      return depth[static_cast<size_t>(a)] < depth[static_cast<size_t>(b)];
    });
  }
  return nests;
}

std::optional<double> OrderClimb::cost_of(const std::vector<int>& order) {
  const auto [known, is_new] = known_.try_emplace(nests_of(order));
  if (is_new) known->second = judged(order);
  return known->second;
}

bool OrderClimb::has_time() const {
  const double of_model = model_ != nullptr ? model_->effort() - model_before_ : 0;
  return nodes_ + of_model <= most_effort_;
}

std::optional<double> OrderClimb::judged(const std::vector<int>& order) {
  if (!has_time()) return std::nullopt;
  return model_ != nullptr ? cycles(order) : expected_steps(order);
}

std::optional<double> OrderClimb::expected_steps(const std::vector<int>& order) {
  try {
    const Graph graph = lowering_.lower(order);
    nodes_ += kFlowEffort * static_cast<double>(graph.nodes.size());
    return estimated_cost(p_, graph).steps;
  } catch (const LoweringConflict&) {
    nodes_ += kFlowEffort * static_cast<double>(region_.statements.size());
  } catch (const Error&) {  // too many nodes
    nodes_ += kFlowEffort * static_cast<double>(options_.max_nodes);
  }
  return std::nullopt;
}

std::optional<double> OrderClimb::cycles(const std::vector<int>& order) {
  Program program = p_;
  program.regions[at_].graph.reset();
  program.regions[at_].schedule.order = indices_.names(order);
  const std::optional<Cost> cost = model_->of_region(program, at_);
  if (!cost) return std::nullopt;
  if (std::isfinite(cost->cycles)) return cost->cycles;
  return cost->beyond > 0 ? std::optional(kTooLarge * (1 + cost->beyond)) : std::nullopt;
}

namespace {

/// The places of an order that have indices of `among`, few of many: asked for one after another.
class MovablePlaces {
 public:
  MovablePlaces(const std::vector<bool>& among, const std::vector<int>& order) {
    for (size_t place = 0; place < order.size(); ++place) {
      if (among[static_cast<size_t>(order[place])]) places_.push_back(place);
    }
    places_.push_back(order.size());
  }
  /// The first from `place` on; the length of the order if there is none.
  size_t next(size_t place) const {
    return *std::lower_bound(places_.begin(), places_.end(), place);
  }
  bool has(size_t place) const { return next(place) == place; }

 private:
  std::vector<size_t> places_;
};

}  // namespace

/// One sweep over the moves of each index. True if any was made.
bool OrderClimb::improve(const std::vector<bool>& among, std::vector<int>& order, double& cost) {
  MovablePlaces movable(among, order);
  bool any = false;
  for (size_t from = movable.next(0); from < order.size(); from = movable.next(from + 1)) {
    for (size_t to = movable.next(0); to < order.size(); to = movable.next(to + 1)) {
      if (from == to) continue;
      if (!movable.has(from)) break;  // a move has put another index there
      if (!has_time()) return any;
      std::vector<int> moved = order;
      moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
      moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
      if (why_illegal(indices_, moved)) continue;
      const std::optional<double> other = cost_of(moved);
      if (!other || *other >= kMoveGain * cost) continue;
      cost = *other;
      order = std::move(moved);
      movable = MovablePlaces(among, order);
      any = true;
    }
  }
  return any;
}

std::optional<std::vector<std::string>> OrderClimb::run() {
  const std::vector<std::string>& given = region_.schedule.order;
  std::vector<int> order = given.empty() ? default_order(indices_) : indices_.find(given);
  std::optional<double> cost = cost_of(order);
  if (!cost) return std::nullopt;
  bool any = false;
  for (const std::vector<bool>& phase : indices_by_phase(indices_, loops_)) {
    while (improve(phase, order, *cost)) any = true;
  }
  return any ? std::optional(indices_.names(order)) : std::nullopt;
}

}  // namespace fuseflow
