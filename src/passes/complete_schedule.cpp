#include "passes/complete_schedule.h"

#include "lower/at_region.h"
#include "lower/lower.h"

namespace fuseflow {

void complete_schedule(Program& program, size_t region, PassLog& log) {
  Region place;  // outlives the program's own, which may move
  place.name = program.regions[region].name;
  place.where = program.regions[region].where;
  if (program.regions[region].statements.empty()) return;
  LowerOptions options;
  options.buffers = false;
  std::vector<std::string> notes;
  at_region(place, [&] { complete_and_lower(program, region, notes, options); });
  for (std::string& note : notes) log.note(std::move(note));
}

}  // namespace fuseflow
