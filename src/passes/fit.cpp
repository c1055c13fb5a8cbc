#include "passes/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "lower/lower.h"
#include "resources/resources.h"

namespace fuseflow {

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
