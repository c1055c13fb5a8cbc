#include "passes/order_moves.h"

#include <algorithm>
#include <utility>

namespace fuseflow {

namespace {

/// Of the expected steps: what a move must gain.
constexpr double kGain = 0.995;
/// A graph without buffers, not estimated, against one that is judged.
constexpr double kEffort = 0.5;

std::vector<std::string> names_of(const RegionIndices& indices, const std::vector<int>& order) {
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const int index : order) names.push_back(indices.indices[static_cast<size_t>(index)].name);
  return names;
}

std::vector<std::vector<bool>> indices_by_phase(const RegionIndices& indices) {
  std::vector<std::vector<bool>> result;
  for (const Instance& instance : indices.instances) {
    const auto phase = static_cast<size_t>(instance.phase);
    if (result.size() <= phase) {
      result.resize(phase + 1, std::vector<bool>(indices.indices.size(), false));
    }
    for (const Affine& map : instance.map) {
      for (const auto& term : map.terms) result[phase][static_cast<size_t>(term.first)] = true;
    }
  }
  return result;
}

}  // namespace

std::optional<GraphCost> OrderClimb::cost_of(const std::vector<std::string>& order) {
  if (nodes_ > most_nodes_) return std::nullopt;
  Region& region = p_.regions[region_];
  const std::vector<std::string> had = std::exchange(region.schedule.order, order);
  LowerOptions options;
  options.buffers = false;
  std::optional<GraphCost> cost;
  try {
    const Graph graph = lower_region(p_, region_, options);
    nodes_ += kEffort * static_cast<double>(graph.nodes.size());
    cost = estimated_cost(p_, graph);
  } catch (const Error&) {
    nodes_ += kEffort * static_cast<double>(region.statements.size());
  }
  region.schedule.order = had;
  return cost;
}

bool OrderClimb::improve(const RegionIndices& indices, const std::vector<bool>& among,
                         std::vector<int>& order, GraphCost& cost) {
  const auto movable = [&](size_t place) { return among[static_cast<size_t>(order[place])]; };
  for (size_t from = 0; from < order.size(); ++from) {
    for (size_t to = 0; to < order.size(); ++to) {
      if (from == to || !movable(from) || !movable(to)) continue;
      std::vector<int> moved = order;
      moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
      moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
      if (why_illegal(indices, moved)) continue;
      const std::optional<GraphCost> other = cost_of(names_of(indices, moved));
      if (!other || other->steps >= kGain * cost.steps) continue;
      cost = *other;
      order = std::move(moved);
      return true;
    }
  }
  return false;
}

bool OrderClimb::run() {
  Schedule& schedule = p_.regions[region_].schedule;
  const std::vector<std::string> given = std::exchange(schedule.order, {});
  const RegionIndices indices = region_indices(p_, region_);
  schedule.order = given;
  std::vector<int> order = given.empty() ? default_order(indices) : indices.find(given);
  std::optional<GraphCost> cost = cost_of(given);
  if (!cost) return false;
  bool any = false;
  for (const std::vector<bool>& phase : indices_by_phase(indices)) {
    while (improve(indices, phase, order, *cost)) any = true;
  }
  if (any) schedule.order = names_of(indices, order);
  return any;
}

}  // namespace fuseflow
