#include "passes/fuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "lower/density_notes.h"
#include "lower/lower.h"
#include "lower/placements.h"
#include "machine/load.h"
#include "passes/choose.h"
#include "passes/dependences.h"
#include "passes/fit.h"
#include "passes/joins.h"
#include "passes/layers.h"
#include "passes/mixture.h"
#include "passes/pass_on_chip.h"
#include "passes/possible_schedule.h"
#include "passes/regroup.h"
#include "passes/reused_inputs.h"
#include "passes/runs_alone.h"
#include "passes/storage_choice.h"
#include "passes/transposed.h"
#include "resources/resources.h"
#include "search/stream_kernels.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

/// `name: s1, s2`: splits at the first colon after the (possibly quoted) name, then at commas.
struct RegionRequest {
  std::string name;
  std::vector<std::string> members;
};

Error malformed(const std::string& text) {
  return Error(ExitCode::usage,
               fmt::format("--region '{}' is malformed, expected a name, a colon and "
                           "values or regions, e.g. --region 'layer1: t0, t1'",
                           text));
}

/// Reads a name at `at`: up to one of `stops`, or in quotes. Leaves `at` after it.
std::string read_name(const std::string& text, size_t& at, std::string_view stops) {
  while (at < text.size() && text[at] == ' ') ++at;
  std::string name;
  if (at < text.size() && text[at] == '%') ++at;
  if (at < text.size() && text[at] == '@') name += text[at++];
  if (at < text.size() && text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      name += text[at];
    }
    if (at == text.size()) throw malformed(text);
    ++at;
  } else {
    while (at < text.size() && stops.find(text[at]) == std::string_view::npos) name += text[at++];
    while (!name.empty() && name.back() == ' ') name.pop_back();
  }
  while (at < text.size() && text[at] == ' ') ++at;
  return name;
}

RegionRequest parse_region_request(const std::string& text) {
  RegionRequest request;
  size_t at = 0;
  request.name = read_name(text, at, ":");
  if (!request.name.empty() && request.name.front() == '@') request.name.erase(0, 1);
  if (request.name.empty() || at >= text.size() || text[at] != ':') throw malformed(text);
  do {
    ++at;
    request.members.push_back(read_name(text, at, ","));
    if (request.members.back().empty()) throw malformed(text);
  } while (at < text.size() && text[at] == ',');
  if (at != text.size()) throw malformed(text);
  return request;
}

/// The statements that a member names: the one that defines it, or those of a region.
std::vector<int> find_members(const Program& program, const Dependences& d,
                              const std::string& given) {
  const bool only_region = given.front() == '@';
  const std::string name = given.substr(only_region ? 1 : 0);
  std::vector<int> found;
  std::vector<std::string> known;
  for (size_t s = 0; s < d.nodes.size(); ++s) {
    const std::string& value = program.tensors[d.nodes[s].statement->result].name;
    if (value == name && !only_region) found.push_back(static_cast<int>(s));
    known.push_back(value);
  }
  for (size_t s = 0; found.empty() && s < d.nodes.size(); ++s)
    known.push_back(program.regions[d.nodes[s].region].name);
  if (!found.empty()) return found;
  for (size_t s = 0; s < d.nodes.size(); ++s) {
    if (program.regions[d.nodes[s].region].name == name) found.push_back(static_cast<int>(s));
  }
  if (!found.empty()) return found;
  const std::string near = meant_name(name, known);
  throw Error(
      ExitCode::rejected,
      fmt::format("no statement and no region is called {}{}; expected names as `fuseflow-fuse -v` "
                  "prints them",
                  quote_if_needed(name),
                  near.empty() ? "" : "; did you mean " + quote_if_needed(near) + "?"));
}

/// The requested regions; what they leave of the present ones stays together.
std::vector<Group> requested_groups(const Program& program, const std::vector<std::string>& texts) {
  const Dependences d = dependences(program);
  std::vector<Group> groups;
  std::vector<int> taken(d.nodes.size(), -1);
  for (const std::string& text : texts) {
    const RegionRequest request = parse_region_request(text);
    Group group{request.name, {}};
    for (const std::string& member : request.members) {
      for (const int s : find_members(program, d, member)) {
        if (taken[s] >= 0 && taken[s] != static_cast<int>(groups.size())) {
          throw Error(ExitCode::rejected,
                      fmt::format("%{} is named in two regions, @{} and @{}; expected one",
                                  program.tensors[d.nodes[s].statement->result].name,
                                  groups[taken[s]].name, request.name));
        }
        if (taken[s] < 0) group.statements.push_back(s);
        taken[s] = static_cast<int>(groups.size());
      }
    }
    groups.push_back(std::move(group));
  }
  for (Group& present : present_groups(program)) {
    std::erase_if(present.statements, [&](int s) { return taken[s] >= 0; });
    if (!present.statements.empty()) groups.push_back(std::move(present));
  }
  return groups;
}

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
      throw Error(
          ExitCode::rejected, region.where,
          fmt::format("region @{} has only a graph, expected statements to fuse", region.name));
    }
    region.graph.reset();
    region.plan.clear();
  }
  return result;
}

struct FuseRequest {
  std::string strategy;
  TilePlanner tiles;
  int64_t max_copies = 1;
  Machine machine;
  PlacementOptions placement;
};

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

int64_t parse_copies(const std::string& text) {
  int64_t most = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (code == std::errc() && end == text.data() + text.size() && most >= 1 && most <= 65536) {
    return most;
  }
  throw Error(ExitCode::usage,
              fmt::format("--max-copies '{}': expected a number from 1 to 65536", text));
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
  request.machine = arguments.machine ? *arguments.machine
                                      : load_machine(arguments.get("machine", "ideal"),
                                                     arguments.all("machine-set"));
  if (request.machine.has_cores && !arguments.has("no-tiles")) request.tiles = arguments.tiles;
  request.max_copies = parse_copies(arguments.get("max-copies", "64"));
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

std::vector<Group> auto_groups(const Program& program, const FuseRequest& request, PassLog& log) {
  std::vector<Group> whole = full_group(program);
  if (!is_limited(request.machine) || whole.empty()) return whole;
  std::string why;
  std::vector<Group> groups = Splitter(program, request).run(why);
  if (groups.size() > 1) log.note(fmt::format("split into {} regions: {}", groups.size(), why));
  return groups;
}

/// The program in these regions; nothing where one of them has no placement that can be lowered (it
/// would have too many nodes).
std::optional<Candidate> assemble_possible(const Program& kernels, const std::vector<Part>& parts,
                                           const Machine& machine, PlacedRuns& placed) {
  try {
    return assemble(kernels, parts, machine, placed);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    return std::nullopt;
  }
}

bool any_tiles(const Program& program) {
  return std::any_of(program.regions.begin(), program.regions.end(), has_tiles);
}

/// Partitions of a program that its best one is compared with; the first is searched.
std::vector<std::vector<Part>> suggested_partitions(const Program& program,
                                                    const FuseRequest& request) {
  if (any_tiles(program)) return {parts_of(program, present_groups(program))};
  PassLog unused;
  std::vector<std::vector<Part>> partitions{
      parts_of(program, auto_groups(program, request, unused))};
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

Tiles tiles_of(Program program, const FuseRequest& request) {
  Tiles tiles;
  if (!request.tiles) return tiles;
  drop_residents(program);
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

/// Part of `auto`: the best mixture of regions, against the program as given, all of it in as few
/// regions as fit the machine, and one region a layer. Then what stays in the scratchpad. Where the
/// machine has no units for streams, they would be free: only what cores cannot run is streams.
Program best_regions(const Program& given, const FuseRequest& request, const Tiles& tiles,
                     CostModel& costs, PassLog& log) {
  Program program = given;
  drop_residents(program);  // other regions pass on other tensors
  const bool free_streams = !request.machine.has_streams && !tiles.runs.empty();
  constexpr size_t kFew = 1;  // as few regions as fit: where nothing does, what comes closest
  std::vector<Candidate> candidates;
  std::vector<std::vector<Part>> partitions;
  PlacedRuns placed(program, request.machine, costs);
  if (!free_streams) candidates.push_back({given, {}});
  for (std::vector<Part>& parts : suggested_partitions(program, request)) {
    std::optional<Candidate> made = assemble_possible(program, parts, request.machine, placed);
    if (made) partitions.push_back(std::move(parts));
    if (!free_streams && (made || candidates.size() == kFew)) {
      candidates.push_back(made ? std::move(*made) : Candidate{given, {}});
    }
  }
  if (partitions.empty()) partitions.push_back(parts_of(program, present_groups(program)));
  const auto add_mixtures = [&](const MixtureSpace& space, const Machine& machine) {
    PlacedRuns there(program, machine, costs);
    for (Candidate& mixture : best_mixtures(program, partitions, space, machine, costs, there)) {
      candidates.push_back(std::move(mixture));
    }
  };
  if (const std::optional<Cost> known = costs.learn(program)) {
    add_mixtures({tiles.runs, request.max_copies}, request.machine);
    const std::optional<Machine> smaller =
        free_streams ? std::nullopt : smaller_machine(program, request.machine, known->tokens);
    if (smaller) add_mixtures({{}, request.max_copies}, *smaller);
  }
  candidates.insert(candidates.end(), tiles.wholes.begin(), tiles.wholes.end());
  if (candidates.empty()) candidates.push_back({given, {}});
  const size_t otherwise = std::min(kFew, candidates.size() - 1);
  Program best = choose(std::move(candidates), otherwise, "regions", costs, log);
  PassLog kept;
  Program on_chip = keep_reused_inputs(best, request.machine, costs, kept);
  on_chip = pass_on_and_reuse(std::move(on_chip), request.machine, costs, kept);
  PassLog unused;
  const std::string wanted = print_program(on_chip);
  on_chip = not_slower(std::move(on_chip), best, costs, unused);
  if (print_program(on_chip) == wanted) log.note_all(kept);
  return on_chip;
}

/// How many times the cycles of the other program one may take by estimate, and yet take fewer.
double most_off(const Cost& a, const Cost& b, const CostModel& costs) {
  constexpr double kExact = 1.05;
  return costs.margin() > 0 || !a.doubt.empty() || !b.doubt.empty() ? kUnsure : kExact;
}

/// What other formats must gain, in simulated cycles: a machine with another memory may lose more.
constexpr double kFormatGain = 0.99;

/// Whether `a`, in other formats, takes less than `b`: by estimate, and where that is not sure, as
/// simulated, if that takes little.
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

/// Takes a second candidate where it is faster.
void replace(Candidate& best, Candidate other, CostModel& costs) {
  if (is_faster(other.program, best.program, costs)) best = std::move(other);
}

/// What was found for a program in formats of its own choice, and what it takes in the given ones.
struct Fused {
  Candidate best;
  std::optional<Cost> in_given_formats;
};

/// The best regions for a program's formats; then other formats for them, where that pays once
/// joins are chosen.
Fused fused_by_cost(Candidate given, const FuseRequest& request, const Tiles& tiles,
                    CostModel& costs, bool verbose) {
  PassLog& log = given.log;
  const Program regions = best_regions(given.program, request, tiles, costs, log);
  PassLog stored_log = log;
  std::optional<Program> stored =
      choose_storage(regions, StorageOf::all, costs, verbose, stored_log);
  Program joined = choose_joins(regions, costs, verbose, log);
  Fused fused{{std::move(joined), std::move(log)}, {}};
  fused.in_given_formats = costs.of_program(fused.best.program);
  if (stored) {
    Program other = choose_joins(std::move(*stored), costs, verbose, stored_log);
    replace(fused.best, {std::move(other), std::move(stored_log)}, costs);
  }
  return fused;
}

/// The strategy `auto`: for the formats as given and, if others pay for the kernels alone or for as
/// few regions as fit, for these. Cores read what they want to: for them no other formats are
/// tried.
Program best_by_cost(const Program& program, const FuseRequest& given_request, CostModel& costs,
                     bool verbose, PassLog& log) {
  FuseRequest request = given_request;
  request.placement.lower.known = &costs.phases();
  const Tiles tiles = tiles_of(program, request);
  auto [best, in_given_formats] = fused_by_cost({program, {}}, request, tiles, costs, verbose);
  if (!request.machine.has_streams) {
    log.note_all(best.log);
    return std::move(best.program);
  }
  PassLog stored_log;
  if (std::optional<Program> stored =
          choose_storage(program, StorageOf::given, costs, false, stored_log)) {
    Candidate given{std::move(*stored), std::move(stored_log)};
    replace(best, fused_by_cost(std::move(given), request, {}, costs, verbose).best, costs);
  }
  Candidate turned{program, {}};
  drop_residents(turned.program);
  std::optional<Program> other;
  if (in_given_formats) {
    other = transposed_for(turned.program, suggested_partitions(turned.program, request).front(),
                           request.machine, in_given_formats->cycles, costs, turned.log);
  }
  if (other) {
    turned.program = std::move(*other);
    replace(best, fused_by_cost(std::move(turned), request, {}, costs, verbose).best, costs);
  }
  log.note_all(best.log);
  return std::move(best.program);
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
  for (const std::string& text : arguments.all("region"))
    static_cast<void>(parse_region_request(text));
}

}  // namespace

Pass fuse_pass() {
  return {
      "fuse",
      "Merge regions: intermediates inside a region stream instead of going through memory",
      {{"strategy", "none|layer|full|auto", "Which regions to make (default: auto)"},
       {"region", "NAME:VALUE,...", "Make a region of these values or regions; repeatable", true},
       {"recompute", "bounded|always", "Recompute what cannot stream: up to a bound, or always"},
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
