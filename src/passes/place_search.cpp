#include "passes/place_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/names.h"
#include "lower/flops.h"
#include "lower/lower.h"
#include "lower/region_indices.h"
#include "passes/choose.h"
#include "passes/orders.h"
#include "resources/resources.h"

namespace fuseflow {

namespace {

/// Nodes that the search lowers for a region, all attempts together: bounds its time.
constexpr size_t kMostLowered = 60'000;
/// What storing must gain: steps, or bytes at equal steps.
constexpr double kGain = 0.99;
constexpr double kByteGain = 0.95;

bool cheaper(const GraphCost& a, const GraphCost& b) {
  if (a.steps < kGain * b.steps) return true;
  return a.steps <= 1.001 * b.steps && a.dram_bytes < kByteGain * b.dram_bytes;
}

class Search {
 public:
  Search(Program& program, size_t region, const Machine& machine, CostModel* costs, PassLog& log)
      : p_(program), region_(region), machine_(machine), model_(costs), log_(log) {
    lower_.buffers = false;
  }

  void run() {
    if (!schedule().order.empty()) return;
    std::optional<Tried> best = evaluate();
    if (!best) return;
    const Tried first = *best;
    std::vector<TensorId> stored;
    for (const TensorId candidate : candidates()) {
      const std::vector<UsePlacement> before = schedule().placements;
      auto& list = schedule().placements;
      list.insert(list.begin(), {candidate, -1, Placement::scratchpad});
      std::optional<Tried> other = evaluate();
      if (other && improves(*other, *best)) {
        best = std::move(other);
        stored.push_back(candidate);
      } else {
        schedule().placements = before;
      }
    }
    if (stored.empty()) return;  // fuseflow-order is for orders alone
    schedule().order = best->order;
    for (const TensorId tensor : stored) {
      log_.note(
          fmt::format("@{}: %{} is kept in the scratchpad: its consumers start row by row, in "
                      "an order of their own",
                      name(), quote_if_needed(p_.tensors[tensor].name)));
    }
    log_.note(fmt::format("@{}: about {:.3g} {} instead of {:.3g}; order {}", name(),
                          best->figure(), best->judged ? "cycles" : "steps", first.figure(),
                          order_text(best->order)));
  }

 private:
  struct Tried {
    GraphCost cost;
    std::vector<std::string> order;  ///< empty: the default
    std::optional<Cost> judged;      ///< by the model
    double figure() const { return judged ? judged->cycles : cost.steps; }
  };

  bool improves(const Tried& a, const Tried& b) const {
    return model_ != nullptr ? fuseflow::better(a.judged, b.judged) : cheaper(a.cost, b.cost);
  }

  Schedule& schedule() { return p_.regions[region_].schedule; }
  std::string name() const { return quote_if_needed(p_.regions[region_].name); }
  static std::string order_text(const std::vector<std::string>& order) {
    std::string text;
    for (const std::string& index : order) text += (text.empty() ? "" : ", ") + index;
    return text.empty() ? "as it was" : text;
  }

  /// Intermediates with a use in the region that nothing is said of, in program order.
  std::vector<TensorId> candidates() const {
    const Region& region = p_.regions[region_];
    std::vector<TensorId> result;
    for (size_t s = 0; s < region.statements.size(); ++s) {
      const TensorId tensor = region.statements[s].result;
      bool used = false;
      for (size_t c = s + 1; c < region.statements.size(); ++c) {
        for (const Expr& node : region.statements[c].nodes) {
          used = used || (node.kind == Expr::Kind::access && node.tensor == tensor);
        }
      }
      const auto& placements = region.schedule.placements;
      const bool placed =
          std::any_of(placements.begin(), placements.end(),
                      [&](const UsePlacement& use) { return use.tensor == tensor; });
      if (used && !placed) result.push_back(tensor);
    }
    return result;
  }

  std::optional<GraphCost> cost_of(const std::vector<std::string>& order) {
    if (lowered_ > kMostLowered) return std::nullopt;
    schedule().order = order;
    std::optional<GraphCost> cost;
    try {
      const Graph graph = lower_region(p_, region_, lower_);
      lowered_ += graph.nodes.size();
      const Resources needed = region_resources(p_, graph, machine_);
      const int64_t room = machine_.scratchpad.bytes;
      if (room == 0 || needed.tensor_bytes <= room) cost = estimated_cost(p_, graph);
    } catch (const Error&) {
      lowered_ += p_.regions[region_].statements.size();
    }
    schedule().order.clear();
    return cost;
  }

  /// The default order, then moves of single indices among those of one phase while they help.
  std::optional<Tried> evaluate() {
    schedule().order.clear();
    const std::optional<GraphCost> first = cost_of({});
    if (!first) return std::nullopt;
    Tried best{*first, {}, {}};
    const RegionIndices indices = region_indices(p_, region_);
    std::vector<int> order = default_order(indices);
    for (const std::set<int>& phase : indices_by_phase(indices)) {
      while (improve(indices, phase, order, best)) {
      }
    }
    if (model_ != nullptr) {
      schedule().order = best.order;
      best.judged = model_->of_region(p_, region_);
      schedule().order.clear();
    }
    return best;
  }

  static std::vector<std::set<int>> indices_by_phase(const RegionIndices& indices) {
    std::vector<std::set<int>> result;
    for (const Instance& instance : indices.instances) {
      const auto phase = static_cast<size_t>(instance.phase);
      if (result.size() <= phase) result.resize(phase + 1);
      for (const Affine& map : instance.map) {
        for (const auto& term : map.terms) result[phase].insert(term.first);
      }
    }
    return result;
  }

  bool improve(const RegionIndices& indices, const std::set<int>& among, std::vector<int>& order,
               Tried& best) {
    for (size_t from = 0; from < order.size(); ++from) {
      for (size_t to = 0; to < order.size(); ++to) {
        if (from == to || among.count(order[from]) == 0 || among.count(order[to]) == 0) continue;
        std::vector<int> moved = order;
        moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
        moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
        if (why_illegal(indices, moved)) continue;
        std::vector<std::string> names;
        for (const int index : moved) names.push_back(indices.indices[index].name);
        const std::optional<GraphCost> cost = cost_of(names);
        if (!cost || cost->steps >= 0.995 * best.cost.steps) continue;
        best = {*cost, std::move(names), {}};
        order = std::move(moved);
        return true;
      }
    }
    return false;
  }

  Program& p_;
  const size_t region_;
  const Machine& machine_;
  CostModel* model_;
  PassLog& log_;
  LowerOptions lower_;
  size_t lowered_ = 0;
};

}  // namespace

void improve_placements(Program& program, size_t region, const Machine& machine, CostModel* costs,
                        PassLog& log) {
  program.regions[region].graph.reset();
  Search(program, region, machine, costs, log).run();
}

bool is_limited(const Machine& machine) {
  return machine.scratchpad.bytes > 0 ||
         std::any_of(machine.units.begin(), machine.units.end(),
                     [](const UnitTiming& unit) { return unit.count > 0; });
}

void make_fit(Program& program, size_t region, const Machine& machine, PassLog& log) {
  if (program.regions[region].schedule.barriers || program.regions[region].statements.empty()) {
    return;
  }
  const auto too_large = [&](bool barriers) {
    Program lowered = program;
    lowered.regions[region].schedule.barriers = barriers;
    std::vector<std::string> notes;
    const Graph graph = complete_and_lower(lowered, region, notes);
    return why_too_large(lowered, lowered.regions[region], graph, machine);
  };
  const std::string why = too_large(false);
  if (why.empty() || !too_large(true).empty()) return;
  Region& r = program.regions[region];
  r.schedule.barriers = true;
  log.note(fmt::format("@{}: its phases take turns: {}", quote_if_needed(r.name), why));
}

}  // namespace fuseflow
