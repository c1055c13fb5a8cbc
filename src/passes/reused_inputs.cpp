#include "passes/reused_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ir/names.h"
#include "lower/completed_region.h"
#include "lower/flops.h"
#include "lower/placements.h"
#include "passes/choose.h"

namespace fuseflow {

namespace {

/// How often its entries an input must be read to be worth a place on chip.
constexpr double kReuse = 1.5;

/// What a schedule can place and the region does not compute. Where lowering reads another copy
/// than a statement names, that one has no place.
bool comes_from_outside(const Region& region, TensorId tensor) {
  bool named = false;
  for (const Statement& s : region.statements) {
    if (s.result == tensor) return false;
    named = named || std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Expr& e) {
              return e.kind == Expr::Kind::access && e.tensor == tensor;
            });
  }
  return named;
}

/// Inputs that are read more than `times` times, the most saving ones first.
std::vector<ReusedInput> read_inputs(const Program& program, const Graph& graph,
                                     const Region& region, double times) {
  const std::vector<double> reads = estimated_reads(program, graph);
  std::vector<ReusedInput> wanted;
  for (size_t t = 0; t < reads.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    const double entries = estimated_entries(program.tensors[t]);
    if (graph.on_chip(id) || reads[t] <= times * entries || !comes_from_outside(region, id)) {
      continue;
    }
    wanted.push_back({id, reads[t], entries});
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const ReusedInput& a, const ReusedInput& b) {
    return a.reads - a.entries > b.reads - b.entries;
  });
  return wanted;
}

void place_on_chip(Region& region, TensorId tensor) {
  region.graph.reset();
  std::vector<UsePlacement>& list = region.schedule.placements;
  std::erase_if(list, [&](const UsePlacement& use) { return use.tensor == tensor; });
  list.push_back({tensor, -1, Placement::scratchpad});
}

/// Keeps inputs of one region, those first that save most reads.
class ReusedInputs {
 public:
  /// `program`: its region is what keep() changes.
  ReusedInputs(Program& program, size_t region, const Machine& machine, KnownPhases* known)
      : program_(program), region_(region), machine_(machine) {
    LowerOptions options;
    options.known = known;
    const CompletedRegion lowered(program, region, options);  // maybe with copies of tensors
    for (const TensorId tensor : lowered.graph().scratchpad) {
      taken_ += estimated_bytes(lowered.program().tensors[static_cast<size_t>(tensor)]);
    }
    again_ = reused_inputs(lowered.program(), lowered.graph(), program.regions[region]);
    all_ = read_inputs(lowered.program(), lowered.graph(), program.regions[region], 0);
  }

  /// Those that are read again, and all that are read at all.
  const std::vector<ReusedInput>& again() const { return again_; }
  const std::vector<ReusedInput>& all() const { return all_; }

  /// All that fit; with `costs` only those that pay, each beside those before it. Updates `cost`.
  /// Gives whether any is kept.
  bool keep(const std::vector<ReusedInput>& inputs, CostModel* costs, std::optional<Cost>& cost,
            PassLog& log) {
    double taken = taken_;
    bool any = false;
    for (const ReusedInput& input : inputs) {
      const double bytes = estimated_bytes(program_.tensors[static_cast<size_t>(input.tensor)]);
      const bool fits = machine_.scratchpad.bytes == 0 ||
                        taken + bytes <= static_cast<double>(machine_.scratchpad.bytes);
      if (!fits || !keep_one(input.tensor, costs, cost)) continue;
      taken += bytes;
      any = true;
      log.note(text_of(input, bytes));
    }
    return any;
  }

 private:
  /// False, and nothing changed, where it does not pay.
  bool keep_one(TensorId tensor, CostModel* costs, std::optional<Cost>& cost) {
    Region& region = program_.regions[region_];
    const Region before = region;
    place_on_chip(region, tensor);
    if (costs == nullptr) return true;
    std::optional<Cost> now = costs->of_region(program_, region_);
    if (better(now, cost)) {
      cost = std::move(now);
      return true;
    }
    region = before;
    return false;
  }

  std::string text_of(const ReusedInput& input, double bytes) const {
    return fmt::format(
        "@{}: %{} is read about {:.1f} times and kept in the scratchpad ({:.0f} bytes)",
        quote_if_needed(program_.regions[region_].name),
        quote_if_needed(program_.tensors[static_cast<size_t>(input.tensor)].name),
        input.reads / std::max(1.0, input.entries), bytes);
  }

  Program& program_;
  const size_t region_;
  const Machine& machine_;
  double taken_ = 0;  ///< bytes of the scratchpad
  std::vector<ReusedInput> again_, all_;
};

}  // namespace

std::vector<ReusedInput> reused_inputs(const Program& program, const Graph& graph,
                                       const Region& region) {
  return read_inputs(program, graph, region, kReuse);
}

bool keep_all_reused(Program& program, size_t region, const Machine& machine, KnownPhases& known,
                     PassLog& log) {
  std::optional<Cost> unused;
  ReusedInputs keeper(program, region, machine, &known);
  return keeper.keep(keeper.again(), nullptr, unused, log);
}

void keep_reused_inputs(Program& program, size_t region, const Machine& machine, CostModel* costs,
                        std::optional<Cost>& cost, PassLog& log) {
  ReusedInputs keeper(program, region, machine, costs != nullptr ? &costs->phases() : nullptr);
  const Region given = program.regions[region];
  PassLog notes;
  keeper.keep(keeper.again(), costs, cost, notes);
  // Two ports may only pay together, where each waits for the other; of few data all, whose
  // latencies come one after the other in a region, and at once before it.
  const auto offer_together = [&](const std::vector<ReusedInput>& inputs) {
    Region best = std::exchange(program.regions[region], given);
    PassLog notes_of_all;
    std::optional<Cost> unused;
    std::optional<Cost> together;
    if (keeper.keep(inputs, nullptr, unused, notes_of_all))
      together = costs->of_region(program, region);
    if (better(together, cost)) {
      cost = std::move(together);
      notes = std::move(notes_of_all);
    } else {
      program.regions[region] = std::move(best);
    }
  };
  if (costs != nullptr) {
    if (keeper.again().size() > 1) offer_together(keeper.again());
    if (keeper.all().size() > keeper.again().size()) offer_together(keeper.all());
  }
  for (const std::string& line : notes.lines()) log.note(line);
}

Program keep_reused_inputs(Program program, const Machine& machine, CostModel& costs,
                           PassLog& log) {
  if (!machine.scratchpad_counts() || !costs.learn(program)) return program;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph || program.regions[r].statements.empty()) continue;
    std::optional<Cost> cost = costs.of_region(program, r);
    if (!cost || !std::isfinite(cost->cycles)) continue;
    const Cost before = *cost;
    keep_reused_inputs(program, r, machine, &costs, cost, log);
    if (!better(cost, before)) continue;
    log.note(fmt::format("@{}: {}, {:.0f} bytes of memory instead of {:.0f}",
                         quote_if_needed(program.regions[r].name), gain_text(*cost, before),
                         cost->dram_bytes, before.dram_bytes));
  }
  return program;
}

}  // namespace fuseflow
