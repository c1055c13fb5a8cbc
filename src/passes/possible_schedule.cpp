#include "passes/possible_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/slice.h"
#include "passes/complete_schedule.h"

namespace fuseflow {

namespace {

/// Asks for one way to meet a use; other placements can always be met.
bool asks_for_a_way(const UsePlacement& use) {
  return use.placement == Placement::stream || use.placement == Placement::recompute;
}

bool has_lines_to_lose(const Schedule& schedule) {
  const std::vector<UsePlacement>& uses = schedule.placements;
  return !schedule.order.empty() || !schedule.parallel.empty() ||
         std::any_of(uses.begin(), uses.end(), asks_for_a_way);
}

/// Why the region cannot be lowered; empty if it can.
std::string obstacle(const Program& program, size_t region) {
  Program completed = program;
  PassLog unused;
  try {
    complete_schedule(completed, region, unused);
    return "";
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    return error.diagnostics()[0].message;
  }
}

/// Takes the next line out of a schedule; gives how a note calls it.
std::string leave_out_next(const Program& program, Schedule& schedule) {
  if (!schedule.order.empty()) {
    const std::string text = fmt::format("order {}", fmt::join(schedule.order, ", "));
    schedule.order.clear();
    return text;
  }
  if (!schedule.parallel.empty()) {
    const Parallel last = schedule.parallel.back();
    schedule.parallel.pop_back();
    return fmt::format("parallel {} = {}", last.index, last.factor);
  }
  std::vector<UsePlacement>& uses = schedule.placements;
  const auto last = std::find_if(uses.rbegin(), uses.rend(), asks_for_a_way);
  const std::string text = fmt::format(
      "place %{} = {}", quote_if_needed(program.tensors[static_cast<size_t>(last->tensor)].name),
      placement_name(last->placement));
  uses.erase(std::next(last).base());
  return text;
}

/// A region with all that its lowering depends on.
std::string text_of(const Program& program, size_t region) {
  const auto read_later = [&](TensorId tensor) { return is_read_later(program, region, tensor); };
  return print_program(slice_region(program, region, read_later).program);
}

}  // namespace

void leave_out_impossible(Program& program, size_t region, PassLog& log) {
  if (!has_lines_to_lose(program.regions[region].schedule)) return;
  const std::string why = obstacle(program, region);
  if (why.empty()) return;
  Program other = program;
  Schedule& schedule = other.regions[region].schedule;
  PassLog notes;
  while (has_lines_to_lose(schedule)) {
    notes.note(fmt::format("@{}: `{}` is left out: {}",
                           quote_if_needed(program.regions[region].name),
                           leave_out_next(program, schedule), why));
    if (!obstacle(other, region).empty()) continue;
    for (const std::string& line : notes.lines()) log.note(line);
    program = std::move(other);
    return;
  }
}

void leave_out_impossible(const Program& before, Program& after, PassLog& log) {
  std::map<std::string, size_t> named;
  for (size_t r = 0; r < before.regions.size(); ++r) named.emplace(before.regions[r].name, r);
  for (size_t r = 0; r < after.regions.size(); ++r) {
    const Region& region = after.regions[r];
    const bool may_lose =
        !region.graph && !region.statements.empty() && has_lines_to_lose(region.schedule);
    if (!may_lose) continue;
    const auto was = named.find(region.name);
    if (was != named.end() && text_of(before, was->second) == text_of(after, r)) continue;
    leave_out_impossible(after, r, log);
  }
}

}  // namespace fuseflow
