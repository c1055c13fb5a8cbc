#include "passes/fuse_auto.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "ir/print.h"
#include "ir/residency.h"
#include "lower/lower.h"
#include "passes/choose.h"
#include "passes/copies.h"
#include "passes/effort.h"
#include "passes/fit.h"
#include "passes/joins.h"
#include "passes/layers.h"
#include "passes/mixture.h"
#include "passes/pass_on_chip.h"
#include "passes/reused_inputs.h"
#include "passes/runs_alone.h"
#include "passes/storage_choice.h"
#include "passes/transposed.h"
#include "resources/resources.h"
#include "search/stream_kernels.h"

namespace fuseflow {

namespace {

/// Part of `auto`: makes regions of as many kernels, in program order, as fit the machine together.
class Splitter {
 public:
  Splitter(const Program& program, const FuseRequest& request)
      : request_(request), kernels_(present_groups(program)), runs_(program) {}

  /// The groups, and why the first one that was cut does not fit as a whole.
  std::vector<Group> run(std::string& why) {
    const size_t all = kernels_.size();
    why = too_large(0, all);
    if (why.empty() || all == 1) return {merged(0, all)};
    std::vector<Group> groups;
    for (size_t first = 0; first < all;) {
      const size_t end = end_of(first);
      groups.push_back(merged(first, end));
      groups.back().name = fmt::format("part{}", groups.size());
      first = end;
    }
    return groups;
  }

 private:
  /// After the last kernel that fits together with those from `first` on. Twice as many are tried
  /// until they do not fit, so that this takes time in proportion to those that do.
  size_t end_of(size_t first) const {
    const size_t all = kernels_.size();
    size_t fits = first + 1;  // a kernel alone is refused by what runs it
    size_t step = 1;
    for (; fits + step <= all && too_large(first, fits + step).empty(); step *= 2) fits += step;
    for (; step > 0; step /= 2) {
      if (fits + step <= all && too_large(first, fits + step).empty()) fits += step;
    }
    return fits;
  }

  Group merged(size_t first, size_t end) const {
    Group group{"full", {}};
    for (size_t k = first; k < end; ++k) {
      group.statements.insert(group.statements.end(), kernels_[k].statements.begin(),
                              kernels_[k].statements.end());
    }
    return group;
  }

  /// Why a region of these kernels does not fit, even with its phases in turn.
  std::string too_large(size_t first, size_t end) const {
    try {
      return too_large_as_placed(first, end);
    } catch (const Error& error) {  // no placement makes it one region
      if (error.code() != ExitCode::rejected) throw;
      return error.diagnostics()[0].message;
    }
  }

  std::string too_large_as_placed(size_t first, size_t end) const {
    PassLog quiet;
    RunAlone run = runs_.make(first, end - 1, "full");
    Program program =
        choose_placements(std::move(run.slice.program), run.region, request_.placement).program;
    const LowerOptions& options = request_.placement.lower;
    make_fit(program, run.region, request_.machine, quiet, options.known);
    return why_too_large(program, program.regions[run.region],
                         lower_region(program, run.region, options), request_.machine);
  }

  const FuseRequest& request_;
  const std::vector<Group> kernels_;
  const RunsAlone runs_;
};

/// The program in these regions; nothing where one of them has no placement that can be lowered (it
/// would have too many nodes).
std::optional<Candidate> assemble_possible(const Program& kernels, const Parts& parts,
                                           const Machine& machine, PlacedRuns& placed) {
  try {
    return assemble(kernels, parts, machine, placed);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    return std::nullopt;
  }
}

using Partitions = std::vector<Parts>;

/// Other regions pass on other tensors.
Program without_residents(Program program) {
  drop_residents(program);
  return program;
}

/// Partitions of a program that its best one is compared with; the first is searched.
Partitions suggested_partitions(const Program& program, const FuseRequest& request) {
  if (any_tiles(program)) return {parts_of(program, present_groups(program))};
  PassLog unused;
  Partitions partitions{parts_of(program, auto_groups(program, request, unused))};
  if (program.regions.size() > 1) partitions.push_back(parts_of(program, layer_groups(program)));
  if (is_limited(request.machine)) {  // as given, but for phases that take turns
    partitions.push_back(parts_of(program, present_groups(program)));
  }
  return partitions;
}

/// What cores can run of a program: runs of kernels, and plans with tensors of their own as they
/// are.
struct Tiles {
  std::vector<PlannedPart> runs;
  std::vector<Candidate> wholes;
};

Tiles tiles_of(const Program& program, const FuseRequest& request) {
  Tiles tiles;
  if (!request.tiles) return tiles;
  for (PlannedProgram& plan : request.tiles(program, request.machine)) {
    for (PlannedPart& part : planned_parts(program, std::move(plan.program))) {
      const bool known = std::any_of(tiles.runs.begin(), tiles.runs.end(),
                                     [&](const PlannedPart& other) { return part.same_as(other); });
      if (!known) tiles.runs.push_back(std::move(part));
    }
    if (!plan.whole) continue;
    tiles.wholes.push_back({std::move(*plan.whole), {}});
    tiles.wholes.back().log.note("statements are planned for cores, some of them in parts");
  }
  return tiles;
}

/// A program of fewer tokens takes no time, and is searched again as on a machine whose scratchpad
/// is so many times smaller: a larger one lets more sets of placements be tried, of which an
/// estimate may take the wrong one.
constexpr double kTokensOfSmall = 1e6;
constexpr int64_t kSmaller = 4;
constexpr double kBuffersBeside = 2;  ///< what tensors take with buffers beside them, at most

/// The machine of a second search; nothing where it would find what the first did.
std::optional<Machine> smaller_machine(const Program& program, const Machine& machine,
                                       double tokens) {
  double bytes = 0;
  for (const Tensor& tensor : program.tensors) bytes += estimated_bytes(tensor);
  Machine smaller = machine;
  smaller.scratchpad.bytes /= kSmaller;
  const bool binds = kBuffersBeside * bytes > static_cast<double>(smaller.scratchpad.bytes);
  if (tokens >= kTokensOfSmall || smaller.scratchpad.bytes == 0 || !binds) return std::nullopt;
  return smaller;
}

constexpr size_t kFew = 1;  ///< the candidate of as few regions as fit: comes closest to fitting

/// Copies of loops of regions that keep something on chip which they did not `before`: what waits
/// for memory no longer, copies can make faster.
Program copied_again(Program program, const Program& before, int64_t max_copies, CostModel& costs,
                     PassLog& log) {
  if (max_copies == 1) return program;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    const bool same = region.schedule.placements == before.regions[r].schedule.placements;
    if (region.graph || region.statements.empty() || same) continue;
    const double effort = kCopiesShare * store_effort(region.statements.size());
    choose_copies_of(program, r, {max_copies, effort}, costs, log);
  }
  return program;
}

/// What was chosen, or `given` where that is faster as simulated, each with what is said of it.
Candidate unless_slower(Candidate chosen, Candidate given, CostModel& costs) {
  PassLog unused;
  const std::string wanted = print_program(chosen.program);
  chosen.program = not_slower(std::move(chosen.program), given.program, costs, unused);
  return print_program(chosen.program) == wanted ? chosen : given;
}

/// The best of candidates, with what it reads again or passes on kept on chip where that pays.
Candidate best_of(std::vector<Candidate> candidates, const FuseRequest& request, CostModel& costs) {
  const Machine& machine = request.machine;
  PassLog log;
  const size_t otherwise = std::min(kFew, candidates.size() - 1);
  const Program best = choose(std::move(candidates), otherwise, "regions", costs, log);
  Candidate on_chip{best, {}};
  on_chip.program = keep_reused_inputs(best, machine, costs, on_chip.log);
  on_chip.program = pass_on_and_reuse(std::move(on_chip.program), machine, costs, on_chip.log);
  Candidate copied = on_chip;
  copied.program =
      copied_again(std::move(copied.program), best, request.max_copies, costs, copied.log);
  on_chip = unless_slower(std::move(copied), std::move(on_chip), costs);
  on_chip = unless_slower(std::move(on_chip), {best, {}}, costs);
  log.note_all(on_chip.log);
  return {std::move(on_chip.program), std::move(log)};
}

/// Where some candidates have kernels for cores: those that have none, if one of them may yet be
/// the fastest, with what is kept on chip.
std::vector<Candidate> streams_in_reach(const std::vector<Candidate>& candidates,
                                        CostModel& costs) {
  double least = std::numeric_limits<double>::infinity();
  double least_of_streams = least;
  std::vector<Candidate> streams;
  for (const Candidate& candidate : candidates) {
    const std::optional<Cost> cost = costs.of_program(candidate.program);
    if (cost) least = std::min(least, cost->cycles);
    if (any_tiles(candidate.program)) continue;
    streams.push_back(candidate);
    if (cost) least_of_streams = std::min(least_of_streams, cost->cycles);
  }
  const bool mixed = streams.size() < candidates.size();
  if (!mixed || !(least_of_streams <= kUnsure * least)) streams.clear();
  return streams;
}

/// How many times the cycles of the other program one may take by estimate, and yet take fewer.
double most_off(const Cost& a, const Cost& b, const CostModel& costs) {
  constexpr double kExact = 1.05;
  return costs.margin() > 0 || !a.doubt.empty() || !b.doubt.empty() ? kUnsure : kExact;
}

/// What these must gain, in simulated cycles: a machine with another memory may lose more.
constexpr double kFormatGain = 0.99;

/// Whether `a`, in other formats or regions, takes less than `b`: by estimate, and where that is
/// not sure, as simulated, if that takes little.
bool is_faster(const Program& a, const Program& b, CostModel& costs) {
  const std::optional<Cost> first = costs.of_program(a);
  const std::optional<Cost> second = costs.of_program(b);
  if (!first || !second) return false;
  const double most = most_off(*first, *second, costs);
  if (first->cycles < most * second->cycles && second->cycles < most * first->cycles) {
    const std::optional<double> then = costs.simulated(a);
    const std::optional<double> now = then ? costs.simulated(b) : std::nullopt;
    if (now) return *then < kFormatGain * *now;
  }
  return better(first, second) && first->cycles <= (1 - costs.margin()) * second->cycles;
}

/// Programs of which the best one is chosen: in `found` at least one. Nothing where no mixture is
/// in reach. Where the machine has no units for streams, they would be free: only what cores cannot
/// run is streams.
std::optional<Mixtures> mixtures_of(const Program& given, const Partitions& suggested,
                                    const FuseRequest& request, const Tiles& tiles,
                                    CostModel& costs, SearchReach& reach) {
  const Program program = without_residents(given);
  const bool free_streams = !request.machine.has_streams && !tiles.runs.empty();
  Mixtures all;
  Partitions partitions;
  PlacedRuns placed(program, request.machine, costs);
  if (!free_streams) all.found.push_back({given, {}});
  for (const Parts& parts : suggested) {
    std::optional<Candidate> made = assemble_possible(program, parts, request.machine, placed);
    if (made) partitions.push_back(parts);
    if (!free_streams && (made || all.found.size() == kFew)) {
      all.found.push_back(made ? std::move(*made) : Candidate{given, {}});
    }
  }
  if (partitions.empty()) partitions.push_back(parts_of(program, present_groups(program)));
  if (const std::optional<Cost> known = costs.learn(program)) {
    const MixtureSpace space{tiles.runs, request.max_copies};
    Mixtures mixtures =
        best_mixtures(program, partitions, space, request.machine, costs, placed, reach);
    if (mixtures.found.empty()) return std::nullopt;
    all.add(std::move(mixtures));
    const std::optional<Machine> smaller =
        free_streams ? std::nullopt : smaller_machine(program, request.machine, known->tokens);
    if (smaller) {
      PlacedRuns placed_there(program, *smaller, costs);
      all.add(best_mixtures(program, partitions, {{}, request.max_copies}, *smaller, costs,
                            placed_there, reach));
    }
  }
  all.found.insert(all.found.end(), tiles.wholes.begin(), tiles.wholes.end());
  if (all.found.empty()) all.found.push_back({given, {}});
  return all;
}

/// Part of `auto`: the best mixture of regions, against the program as given, all of it in as few
/// regions as fit the machine, and one region a layer. Then what stays in the scratchpad. Nothing
/// where no mixture is in reach.
std::optional<Program> best_regions(const Program& given, const Partitions& suggested,
                                    const FuseRequest& request, const Tiles& tiles,
                                    CostModel& costs, SearchReach& reach, PassLog& log) {
  std::optional<Mixtures> all = mixtures_of(given, suggested, request, tiles, costs, reach);
  if (!all) return std::nullopt;
  std::vector<Candidate> streams = streams_in_reach(all->found, costs);
  std::vector<Candidate> mixed;
  if (!streams.empty()) {
    mixed = all->found;
    all->found.push_back(best_of(std::move(streams), request, costs));
  }
  Candidate best = best_of(std::move(all->found), request, costs);
  if (any_tiles(best.program)) mixed.clear();  // it is the best of these
  if (!all->alone.empty()) all->alone.insert(all->alone.begin(), {given, {}});
  for (std::vector<Candidate>* others : {&mixed, &all->copied, &all->alone}) {
    if (others->empty()) continue;  // what they keep on chip may decide: compared once it is known
    Candidate other = best_of(std::move(*others), request, costs);
    if (is_faster(other.program, best.program, costs)) best = std::move(other);
  }
  log.note_all(best.log);
  return std::optional(std::move(best.program));
}

struct Fused {
  Candidate best;
  std::optional<Cost> in_given_formats;
};

/// The best regions for a program's formats; then other formats for them, where that pays once
/// joins are chosen. Nothing where no regions are in reach.
std::optional<Fused> fused_by_cost(Candidate given, const Partitions& suggested,
                                   const FuseRequest& request, const Tiles& tiles, CostModel& costs,
                                   SearchReach& reach, bool verbose) {
  PassLog& log = given.log;
  const std::optional<Program> regions =
      best_regions(given.program, suggested, request, tiles, costs, reach, log);
  if (!regions) return std::nullopt;
  PassLog stored_log = log;
  std::optional<Program> stored =
      choose_storage(*regions, StorageOf::all, costs, verbose, stored_log);
  Program joined = not_slower(choose_joins(*regions, costs, verbose, log), *regions, costs, log);
  Fused fused{{std::move(joined), std::move(log)}, {}};
  fused.in_given_formats = costs.of_program(fused.best.program);
  if (stored) {
    Program other = choose_joins(std::move(*stored), costs, verbose, stored_log);
    if (is_faster(other, fused.best.program, costs)) {
      fused.best = {std::move(other), std::move(stored_log)};
    }
  }
  return fused;
}

}  // namespace

std::vector<Group> full_group(const Program& program) {
  Group all{"full", {}};
  for (const Group& group : present_groups(program)) {
    all.statements.insert(all.statements.end(), group.statements.begin(), group.statements.end());
  }
  if (all.statements.empty()) return {};
  std::vector<Group> groups;
  groups.push_back(std::move(all));
  return groups;
}

std::vector<Group> auto_groups(const Program& program, const FuseRequest& request, PassLog& log) {
  std::vector<Group> whole = full_group(program);
  if (!is_limited(request.machine) || whole.empty()) return whole;
  std::string why;
  std::vector<Group> groups = Splitter(program, request).run(why);
  if (groups.size() > 1) log.note(fmt::format("split into {} regions: {}", groups.size(), why));
  return groups;
}

bool any_tiles(const Program& program) {
  return std::any_of(program.regions.begin(), program.regions.end(), has_tiles);
}

Program best_by_cost(const Program& program, const FuseRequest& given_request, CostModel& costs,
                     bool verbose, PassLog& log) {
  FuseRequest request = given_request;
  request.placement.lower.known = &costs.phases();
  const Program kernels = without_residents(program);
  const Tiles tiles = tiles_of(kernels, request);
  SearchReach reach;
  const Partitions suggested = suggested_partitions(kernels, request);
  Fused first =
      fused_by_cost({program, {}}, suggested, request, tiles, costs, reach, verbose).value();
  Candidate best = std::move(first.best);
  const std::optional<Cost>& in_given_formats = first.in_given_formats;
  if (!request.machine.has_streams) {
    log.note_all(best.log);
    return std::move(best.program);
  }
  if (verbose && request.max_copies > 1 && !has_counted_units(request.machine)) {
    best.log.note(
        "the machine has no number of units (units.*.count): copies of loops are tried only in "
        "regions that keep something on chip; fuseflow-parallelize --auto tries all");
  }
  if (in_given_formats) reach.cycles = in_given_formats->cycles;
  const auto replace_by = [&](Candidate given) {
    const Partitions others = suggested_partitions(without_residents(given.program), request);
    std::optional<Fused> other =
        fused_by_cost(std::move(given), others, request, {}, costs, reach, verbose);
    if (other && is_faster(other->best.program, best.program, costs)) best = std::move(other->best);
  };
  Candidate stored{program, {}};
  if (std::optional<Program> other =
          choose_storage(program, StorageOf::given, costs, false, stored.log)) {
    stored.program = std::move(*other);
    replace_by(std::move(stored));
  }
  PassLog turned_log;
  std::optional<Program> turned;
  if (in_given_formats) {
    turned = transposed_for(kernels, suggested.front(), request.machine, in_given_formats->cycles,
                            costs, turned_log);
  }
  if (turned) replace_by({std::move(*turned), std::move(turned_log)});
  log.note_all(best.log);
  return std::move(best.program);
}

}  // namespace fuseflow
