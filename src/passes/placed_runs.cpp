#include "passes/placed_runs.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ir/names.h"
#include "passes/fit.h"
#include "passes/possible_schedule.h"

namespace fuseflow {

namespace {

/// Kernels of a run that is placed again in no time.
constexpr size_t kShort = 4;

}  // namespace

PlacementOptions PlacedRuns::options() const {
  PlacementOptions options;
  options.scratchpad_bytes = machine_.scratchpad.bytes;
  options.lower.known = &costs_.phases();
  return options;
}

/// Puts a choice for a region into its program.
void PlacedRuns::take(PlacementChoice choice, Program& program, size_t region, PassLog& log) {
  program = std::move(choice.program);
  const std::string name = quote_if_needed(program.regions[region].name);
  for (const std::string& note : choice.notes) log.note(fmt::format("@{}: {}", name, note));
}

void PlacedRuns::place(Program& program, size_t region, const Part& part, PassLog& log) const {
  if (part.is_kernel()) return;
  leave_out_impossible(program, region, log);
  PlacementOptions bounded = options();
  bounded.max_recompute = part.max_recompute;
  PlacementChoice choice = choose_placements(std::move(program), region, bounded);
  costs_.spend(kFlowEffort * choice.lowered);
  take(std::move(choice), program, region, log);
}

/// Lets phases take turns where the machine has no room for them together.
std::shared_ptr<const PlacedRun> PlacedRuns::finished(PlacedRun placed) const {
  if (is_limited(machine_)) {
    Program fitted = placed.run.slice.program;
    make_fit(fitted, placed.run.region, machine_, placed.in_turn, &costs_.phases());
    placed.turns = fitted.regions[placed.run.region].schedule.barriers;
  }
  return std::make_shared<const PlacedRun>(std::move(placed));
}

/// With much recomputation and with little: the latter is on the way from the former.
void PlacedRuns::place_long(const Part& part) {
  const std::vector<double> bounds{kMuchRecompute, kLittleRecompute};
  PlacedRun given;
  given.run = runs_.make(part.first, part.last, part.name);
  const size_t region = given.run.region;
  leave_out_impossible(given.run.slice.program, region, given.notes);
  std::vector<PlacementChoice> choices =
      choose_placements_for(given.run.slice.program, region, options(), bounds);
  costs_.spend(kFlowEffort * choices.back().lowered);
  for (size_t b = 0; b < bounds.size(); ++b) {
    PlacedRun placed = given;
    take(std::move(choices[b]), placed.run.slice.program, region, placed.notes);
    long_[{part.first, part.last, part.name, bounds[b]}] = finished(std::move(placed));
  }
}

std::shared_ptr<const PlacedRun> PlacedRuns::of(const Part& part) {
  if (part.last - part.first < kShort) {
    PlacedRun placed;
    placed.run = runs_.make(part.first, part.last, part.name);
    place(placed.run.slice.program, placed.run.region, part, placed.notes);
    return finished(std::move(placed));
  }
  const Key key(part.first, part.last, part.name, part.max_recompute);
  if (!long_.contains(key)) place_long(part);
  return long_.at(key);
}

}  // namespace fuseflow
