#include "passes/parts.h"

#include <algorithm>
#include <utility>

#include "passes/fit.h"
#include "search/stream_kernels.h"
#include "support/defect.h"

namespace fuseflow {

namespace {

std::vector<Group> groups_of(const Program& kernels, const Parts& parts) {
  const std::vector<Group> present = present_groups(kernels);
  std::vector<Group> groups;
  for (const Part& part : parts) {
    groups.push_back({part.is_kernel() ? present[part.first].name : part.name, {}});
    for (size_t k = part.first; k <= part.last; ++k) {
      std::vector<int>& all = groups.back().statements;
      all.insert(all.end(), present[k].statements.begin(), present[k].statements.end());
    }
  }
  return groups;
}

}  // namespace

Parts each_alone(size_t kernels) {
  Parts parts;
  for (size_t k = 0; k < kernels; ++k) parts.push_back({k, k, ""});
  return parts;
}

Parts parts_of(const Program& kernels, const std::vector<Group>& groups) {
  std::vector<size_t> kernel_of;  // by statement
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    kernel_of.insert(kernel_of.end(), kernels.regions[k].statements.size(), k);
  }
  Parts parts;
  for (const Group& group : groups) {
    const auto [least, most] =
        std::minmax_element(group.statements.begin(), group.statements.end());
    Part part{kernel_of[*least], kernel_of[*most], group.name};
    if (statements_of(kernels, part) != group.statements.size()) {
      throw Defect("region @" + group.name + " is no run of kernels");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

size_t statements_of(const Program& kernels, const Part& part) {
  size_t statements = 0;
  for (size_t k = part.first; k <= part.last; ++k) {
    statements += kernels.regions[k].statements.size();
  }
  return statements;
}

Program regrouped(const Program& kernels, const Parts& parts, PassLog& log) {
  return regroup(kernels, groups_of(kernels, parts), log);
}

FoundSchedule found_of(const RunAlone& run, PassLog notes) {
  FoundSchedule found{run.slice.program.regions[run.region].schedule, has_more_tensors(run.slice),
                      std::move(notes)};
  if (!found.copies) to_whole(run.slice, found.schedule);
  return found;
}

FoundSchedule default_of(const PlacedRun& placed) {
  PassLog notes = placed.notes;
  notes.note_all(placed.in_turn);
  FoundSchedule found = found_of(placed.run, std::move(notes));
  if (placed.turns) found.schedule.barriers = true;
  return found;
}

void take_found(Candidate& made, size_t region, const Part& part, const FoundSchedule& found,
                const Machine& machine, const PlacedRuns& placed) {
  if (found.copies) {
    placed.place(made.program, region, part, made.log);
    if (is_limited(machine)) make_fit(made.program, region, machine, made.log);
    return;
  }
  made.program.regions[region].schedule = found.schedule;
  made.log.note_all(found.notes);
}

Candidate assemble(const Program& kernels, const Parts& parts, const Machine& machine,
                   PlacedRuns& placed) {
  Candidate made;
  made.program = regrouped(kernels, parts, made.log);
  for (size_t r = 0; r < parts.size(); ++r) {
    if (has_tiles(made.program.regions[r])) continue;
    take_found(made, r, parts[r], default_of(*placed.of(parts[r])), machine, placed);
  }
  return made;
}

}  // namespace fuseflow
