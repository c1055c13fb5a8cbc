#include "passes/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "lower/completed_region.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"

namespace fuseflow {

bool has_counted_units(const Machine& machine) {
  return std::any_of(machine.units.begin(), machine.units.end(),
                     [](const UnitTiming& unit) { return unit.count > 0; });
}

bool is_limited(const Machine& machine) {
  return machine.scratchpad.bytes > 0 || has_counted_units(machine);
}

namespace {

/// What a machine makes of a region as lowered.
struct MachineFit {
  std::string too_large;  ///< why it has no room; empty if it has
  std::string shallower;  ///< what it has less room for than there could be; empty if none
};

/// How a region fits as it would be lowered.
MachineFit fit_of(const Program& program, size_t region, const Machine& machine,
                  KnownPhases* known) {
  LowerOptions options;
  options.known = known;
  const CompletedRegion lowered(program, region, options);
  return {why_too_large(lowered.program(), lowered.region(), lowered.graph(), machine),
          shallower_buffers_note(lowered.program(), lowered.region(), machine)};
}

/// How a region fits with its phases in turn.
MachineFit fit_in_turn(Program& program, size_t region, const Machine& machine,
                       KnownPhases* known) {
  bool& barriers = program.regions[region].schedule.barriers;
  barriers = true;
  try {
    MachineFit fit = fit_of(program, region, machine, known);
    barriers = false;
    return fit;
  } catch (...) {
    barriers = false;
    throw;
  }
}

}  // namespace

void make_fit(Program& program, size_t region, const Machine& machine, PassLog& log,
              KnownPhases* known) {
  Region& r = program.regions[region];
  if (r.statements.empty()) return;
  MachineFit fit = fit_of(program, region, machine, known);
  if (!fit.too_large.empty() && !r.schedule.barriers) {
    const std::string why = fit.too_large;
    fit = fit_in_turn(program, region, machine, known);
    if (!fit.too_large.empty()) return;
    r.schedule.barriers = true;
    log.note(fmt::format("@{}: its phases take turns: {}", quote_if_needed(r.name), why));
  }
  if (fit.too_large.empty() && !fit.shallower.empty()) log.note(fit.shallower);
}

void note_too_large(const Program& program, const Machine& machine, PassLog& log) {
  if (!is_limited(machine)) return;
  std::string first;
  size_t more = 0;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (region.statements.empty() || region.graph) continue;
    try {
      const MachineFit fit = fit_of(program, r, machine, nullptr);
      more += !fit.too_large.empty() && !first.empty() ? 1 : 0;
      if (first.empty()) first = fit.too_large;
    } catch (const Error&) {  // lowering it reports why
    }
  }
  if (first.empty()) return;
  const std::string others =
      more == 0 ? ""
                : fmt::format(" ({} more region{} too large)", more, more == 1 ? " is" : "s are");
  log.note(fmt::format("fuseflow-sim will refuse it: {}{}", first, others));
}

}  // namespace fuseflow
