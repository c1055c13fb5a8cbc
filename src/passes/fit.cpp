#include "passes/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "lower/lower.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"

namespace fuseflow {

bool is_limited(const Machine& machine) {
  return machine.scratchpad.bytes > 0 ||
         std::any_of(machine.units.begin(), machine.units.end(),
                     [](const UnitTiming& unit) { return unit.count > 0; });
}

namespace {

/// What a machine makes of a region as lowered.
struct Fit {
  std::string too_large;  ///< why it has no room; empty if it has
  std::string shallower;  ///< what it has less room for than there could be; empty if none
};

Fit fit_of(Program program, size_t region, bool barriers, const Machine& machine) {
  program.regions[region].schedule.barriers = barriers;
  std::vector<std::string> notes;
  Graph graph = complete_and_lower(program, region, notes);
  Region& lowered = program.regions[region];
  lowered.graph = std::move(graph);
  return {why_too_large(program, lowered, *lowered.graph, machine),
          shallower_buffers_note(program, lowered, machine)};
}

}  // namespace

void make_fit(Program& program, size_t region, const Machine& machine, PassLog& log) {
  Region& r = program.regions[region];
  if (r.statements.empty()) return;
  Fit fit = fit_of(program, region, r.schedule.barriers, machine);
  if (!fit.too_large.empty() && !r.schedule.barriers) {
    const std::string why = fit.too_large;
    fit = fit_of(program, region, true, machine);
    if (!fit.too_large.empty()) return;
    r.schedule.barriers = true;
    log.note(fmt::format("@{}: its phases take turns: {}", quote_if_needed(r.name), why));
  }
  if (fit.too_large.empty() && !fit.shallower.empty()) log.note(fit.shallower);
}

}  // namespace fuseflow
