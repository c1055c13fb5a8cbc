// The pass `fuse`: which kernels share a region.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "ir/residency.h"
#include "lower/density_notes.h"
#include "lower/placements.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/fit.h"
#include "passes/fuse_auto.h"
#include "passes/layers.h"
#include "passes/pass_list.h"
#include "passes/possible_schedule.h"
#include "passes/region_requests.h"
#include "passes/regroup.h"
#include "search/stream_kernels.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

void describe_regions(const Program& before, const Program& after, bool verbose, PassLog& log) {
  log.note(fmt::format("{} region{} from {}", after.regions.size(),
                       after.regions.size() == 1 ? "" : "s", before.regions.size()));
  if (!verbose) return;
  for (const Region& region : after.regions) {
    std::vector<std::string> names;
    for (const Statement& s : region.statements) {
      names.push_back("%" + quote_if_needed(after.tensors[s.result].name));
    }
    log.note(fmt::format("@{}: {}", quote_if_needed(region.name), fmt::join(names, ", ")));
  }
}

/// What becomes of the graphs is for run_pass to say. `keep_tiles`: what is planned for cores
/// stays.
Program without_graphs(const Program& program, bool keep_tiles) {
  Program result = program;
  for (Region& region : result.regions) {
    if (!region.graph || (keep_tiles && has_tiles(region))) continue;
    if (region.statements.empty()) {
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("region @{} has only a graph, expected statements to fuse",
                              quote_if_needed(region.name)));
    }
    region.graph.reset();
    region.plan.clear();
  }
  return result;
}

void complete(FuseRequest& request) {
  request.placement.scratchpad_bytes = request.machine.scratchpad.bytes;
  // Unless the fewest regions are requested, storing is preferred to computing again.
  if (request.strategy == "auto") request.placement.max_recompute = kAutoRecompute;
}

void refuse_value(std::string_view option, const std::string& value,
                  const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw Error(
      ExitCode::usage,
      fmt::format("--{}={} is unknown{}; expected one of {}", option, value,
                  did_you_mean(value, known, {}, ", did you mean '"), fmt::join(known, ", ")));
}

FuseRequest parse_arguments(const PassArguments& arguments) {
  FuseRequest request;
  request.strategy = arguments.get("strategy", arguments.has("region") ? "none" : "auto");
  refuse_value("strategy", request.strategy, {"none", "layer", "full", "auto"});
  if (request.strategy != "none" && arguments.has("region")) {
    throw Error(ExitCode::usage,
                fmt::format("--strategy={} and --region both say which regions to make, "
                            "expected one of them",
                            request.strategy));
  }
  const std::string recompute = arguments.get("recompute", "bounded");
  refuse_value("recompute", recompute, {"bounded", "always"});
  request.placement.recompute_always = recompute == "always";
  if (request.placement.recompute_always && request.strategy == "auto") {
    throw Error(
        ExitCode::usage,
        "--recompute=always says how other strategies place what they make; auto chooses what "
        "is stored by its cost; expected --strategy=layer, --strategy=full or --region");
  }
  request.machine = machine_of(arguments);
  if (request.machine.has_cores && !arguments.has("no-tiles")) request.tiles = arguments.tiles;
  request.max_copies = parse_copies("max-copies", arguments.get("max-copies", "64"));
  complete(request);
  return request;
}

/// Gives every region that is not one of the given ones its placements.
Program place_intermediates(const Program& given, Program program, const FuseRequest& request,
                            PassLog& log) {
  std::set<std::pair<std::string, size_t>> old;
  for (const Region& region : given.regions) old.emplace(region.name, region.statements.size());
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    if (old.contains({region.name, region.statements.size()})) continue;
    const std::string name = quote_if_needed(region.name);
    leave_out_impossible(program, r, log);
    PlacementChoice choice = choose_placements(std::move(program), r, request.placement);
    program = std::move(choice.program);
    for (const std::string& note : choice.notes) log.note(fmt::format("@{}: {}", name, note));
  }
  return program;
}

/// Regions stay as they are where a requested one would have more statements than can be merged.
void check_size(const Program& program, FuseRequest& request, PassLog& log) {
  if (request.strategy == "none") return;
  const std::vector<Group> groups =
      request.strategy == "layer" ? layer_groups(program) : full_group(program);
  const size_t most = LowerOptions{}.max_instances;
  for (const Group& group : groups) {
    if (group.statements.size() <= most) continue;
    log.note(
        fmt::format("--strategy={}: a region of {} statements is more than can be merged, "
                    "which is {}: the regions stay as they are (--region NAME:VALUE,... "
                    "merges some of them)",
                    request.strategy, group.statements.size(), most));
    request.strategy = "none";
    return;
  }
}

Program run_fuse(const Program& given, const PassArguments& arguments, PassLog& log) {
  FuseRequest request = parse_arguments(arguments);
  const bool keeps_tiles = request.strategy == "auto" && request.machine.has_cores;
  Program program = without_graphs(given, keeps_tiles && arguments.costs);
  check_size(program, request, log);
  const bool searches = request.strategy == "auto" && arguments.costs;
  std::vector<Group> groups;
  PassLog notes;
  Program result;
  if (searches) {
    const std::unique_ptr<CostModel> costs = arguments.costs(request.machine);
    result = best_by_cost(program, request, *costs, arguments.has("verbose"), notes);
    const bool fair = request.machine.has_streams || !any_tiles(result);
    if (fair) result = not_slower(std::move(result), program, *costs, notes);
  } else {
    drop_residents(program);
    if (arguments.has("region")) {
      groups = requested_groups(program, arguments.all("region"));
    } else if (request.strategy == "layer") {
      groups = layer_groups(program);
    } else if (request.strategy == "none") {
      groups = present_groups(program);
    } else if (request.strategy == "auto") {
      groups = auto_groups(program, request, log);
    } else {
      groups = full_group(program);
    }
    result = regroup(program, std::move(groups), log);
    result = place_intermediates(given, std::move(result), request, notes);
    if (request.strategy == "auto" && is_limited(request.machine)) {
      for (size_t r = 0; r < result.regions.size(); ++r)
        make_fit(result, r, request.machine, notes);
    }
  }
  if (arguments.has("region")) {
    result.strategy = "given";
  } else if (request.strategy != "none") {
    result.strategy = request.strategy;
  }
  if (std::string note = note_returned(given, result); !note.empty()) log.note(std::move(note));
  describe_regions(given, result, arguments.has("verbose"), log);
  log.note_all(notes);
  note_too_large(result, request.machine, log);
  for (std::string& line : density_notes(result)) log.note(std::move(line));
  return result;
}

void check_fuse(const PassArguments& arguments) {
  static_cast<void>(parse_arguments(arguments));
  for (const std::string& text : arguments.all("region")) check_region_request(text);
}

}  // namespace

Pass fuse_pass() {
  return {
      "fuse",
      "Merge regions: intermediates inside a region stream instead of going through memory",
      {{"strategy", "none|layer|full|auto", "Which regions to make (default: auto)"},
       {"region", "NAME:VALUE,...",
        "Make a region of these statements (named by their results) or regions; repeatable", true},
       {"recompute", "bounded|always",
        "layer, full, --region: recompute what cannot stream, up to a bound or always"},
       {"no-tiles", "", "auto: no kernels for the machine's cores"},
       {"max-copies", "N",
        "auto: most parallel copies of a loop, for machines whose units have a "
        "number (default: 64; 1: none)"},
       {"machine", "NAME|FILE",
        "Machine that the regions must fit: preset or TOML file (default: ideal)"},
       {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true},
       {"verbose", "", "Print the values of every region, and the joins that were tried"}},
      run_fuse,
      check_fuse};
}

}  // namespace fuseflow
