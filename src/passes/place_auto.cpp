#include "passes/place_auto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/copies.h"
#include "ir/names.h"
#include "ir/residency.h"
#include "lower/placements.h"
#include "passes/effort.h"
#include "passes/fit.h"
#include "passes/possible_schedule.h"
#include "passes/reused_inputs.h"
#include "passes/runs_alone.h"
#include "passes/store_search.h"

namespace fuseflow {

namespace {

struct PlacedProgram {
  Program program;
  PassLog log;
  std::optional<Cost> cost;
};

/// Placements of one region of a program.
class RegionPlacer {
 public:
  RegionPlacer(const Program& program, size_t region, const Machine& machine)
      : p_(program), r_(region), machine_(machine) {}

  PlacedProgram run(CostModel* costs) const {
    return costs == nullptr ? improved(placed_anew(true), nullptr) : best_placed(*costs);
  }

 private:
  /// The region as given, with its order or without: a search of placements keeps an order, for
  /// which they may have been chosen as it may have been for them.
  PlacedProgram as_given(bool ordered) const {
    PlacedProgram placed{p_, {}, {}};
    if (!ordered) {
      placed.program.regions[r_].schedule.order.clear();
      placed.program.regions[r_].graph.reset();
    }
    return placed;
  }

  /// The region with the placements that a fused one gets, whatever it had.
  PlacedProgram placed_anew(bool ordered) const {
    PlacementOptions options;
    options.max_recompute = kAutoRecompute;
    options.scratchpad_bytes = machine_.scratchpad.bytes;
    PlacedProgram placed = as_given(ordered);
    Region& region = placed.program.regions[r_];
    region.graph.reset();
    std::erase_if(region.schedule.placements,
                  [&](const UsePlacement& use) { return !p_.tensors[use.tensor].given(); });
    leave_out_impossible(placed.program, r_, placed.log);
    PlacementChoice choice = choose_placements(std::move(placed.program), r_, options);
    placed.program = std::move(choice.program);
    const std::string prefix = fmt::format("@{}: ", quote_if_needed(p_.regions[r_].name));
    for (const std::string& note : choice.notes) placed.log.note(prefix + note);
    return placed;
  }

  /// Stores more of the region's intermediates, and then inputs, where that pays; lets its phases
  /// take turns if they have to.
  PlacedProgram improved(PlacedProgram placed, CostModel* costs) const {
    PlacedProgram anew{placed.program, {}, {}};
    const double effort = store_effort(p_.regions[r_].statements.size());
    if (improve_stores(anew.program, r_, machine_, costs, anew.log, effort)) {
      placed = std::move(anew);
    }
    if (costs != nullptr) placed.cost = costs->of_region(placed.program, r_);
    keep_reused_inputs(placed.program, r_, machine_, costs, placed.cost, placed.log);
    make_fit(placed.program, r_, machine_, placed.log);
    return placed;
  }

  /// The best of the region as given, and of those made step by step: from it or from the default
  /// placements, each step judged, or all steps together.
  PlacedProgram best_placed(CostModel& costs) const {
    PlacedProgram best{p_, {}, costs.of_region(p_, r_)};
    const bool runs = best.cost && std::isfinite(best.cost->cycles);
    const auto offer = [&](const auto& make) {
      try {
        PlacedProgram other = make();
        other.cost = costs.of_region(other.program, r_);
        if (better(other.cost, best.cost)) best = std::move(other);
      } catch (const Error&) {  // it cannot be placed that way
      }
    };
    for (const bool ordered : {true, false}) {
      if (!ordered && p_.regions[r_].schedule.order.empty()) continue;
      if (runs) offer([&] { return improved(as_given(ordered), &costs); });
      offer([&] { return improved(placed_anew(ordered), &costs); });
    }
    offer([&] { return improved(placed_anew(true), nullptr); });
    const bool fits = best.cost && std::isfinite(best.cost->cycles);
    return runs || fits ? best : improved(placed_anew(true), nullptr);
  }

  const Program& p_;
  const size_t r_;
  const Machine& machine_;
};

/// Whether two programs, of which one was made of the other, differ in a region in no more than its
/// schedule: a search may make copies of tensors, too, or read some that are there.
bool differ_in_schedule_only(const Program& a, const Program& b, size_t region) {
  const auto same_tensor = [](const Tensor& one, const Tensor& other) {
    return one.format == other.format && one.placement == other.placement;
  };
  const auto same_statement = [](const Statement& one, const Statement& other) {
    return one.nodes == other.nodes;
  };
  const std::vector<Statement>& first = a.regions[region].statements;
  const std::vector<Statement>& second = b.regions[region].statements;
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    same_tensor) &&
         std::equal(first.begin(), first.end(), second.begin(), second.end(), same_statement);
}

/// Places a region in a program of its own, which takes time in proportion to the region. Gives
/// whether its schedule is all that there is to it.
bool place_alone(Program& program, size_t r, const Machine& machine, CostModel* costs,
                 PassLog& log) {
  const RunAlone alone = RunsAlone(program).make(r, r, "");
  const RegionSlice& slice = alone.slice;
  std::optional<SliceCosts> slice_costs;
  if (costs != nullptr) slice_costs.emplace(*costs, slice.tensors);
  const RegionPlacer placer(slice.program, alone.region, machine);
  PlacedProgram best = placer.run(slice_costs ? &*slice_costs : nullptr);
  if (!differ_in_schedule_only(best.program, slice.program, alone.region)) return false;
  Region& placed = best.program.regions[alone.region];
  to_whole(slice, placed.schedule);
  Region& region = program.regions[r];
  region.schedule = std::move(placed.schedule);
  if (!placed.graph) region.graph.reset();
  log.note_all(best.log);
  return true;
}

}  // namespace

Candidate with_chosen_placements(const Program& given, const Machine& machine, CostModel* costs) {
  Candidate placed{given, {}};
  Program& program = placed.program;
  const bool apart = residents(given).empty();  // else regions share the scratchpad
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].statements.empty()) continue;
    if (apart && place_alone(program, r, machine, costs, placed.log)) continue;
    PlacedProgram best = RegionPlacer(program, r, machine).run(costs);
    program = std::move(best.program);
    placed.log.note_all(best.log);
  }
  return placed;
}

std::optional<Program> without_copies_read(const Program& given) {
  Program program = given;
  bool any = false;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    Region& region = program.regions[r];
    if (region.graph || region.statements.empty()) continue;
    bool changed = false;
    for (Statement& statement : region.statements) {
      for (Expr& node : statement.nodes) {
        if (node.kind != Expr::Kind::access) continue;
        const TensorId original = original_of(program, node.tensor);
        changed = changed || original != node.tensor;
        node.tensor = original;
      }
    }
    if (!changed) continue;
    any = true;
    region.schedule.order.clear();
    follow_copies(program, r);
  }
  return any ? std::optional(std::move(program)) : std::nullopt;
}

}  // namespace fuseflow
