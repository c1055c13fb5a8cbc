// The pass `parallelize`: which loops run in parallel copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/names.h"
#include "lower/at_region.h"
#include "lower/lower.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/complete_schedule.h"
#include "passes/copies.h"
#include "passes/option_names.h"
#include "passes/pass_list.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

/// One --index with its --factor.
struct CopiesRequest {
  std::string region;
  std::string index;
  int64_t factor = 1;
};

/// `region:i`; the region's name may hold colons.
CopiesRequest parse_index(const std::string& text) {
  const size_t colon = find_last_separator(text, ':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw Error(ExitCode::usage,
                fmt::format("--index '{}' is malformed, expected a region and one of its indices, "
                            "e.g. --index attention:i",
                            text));
  }
  return {name_in_option(text.substr(0, colon), '@'), name_in_option(text.substr(colon + 1), '%'),
          1};
}

std::vector<CopiesRequest> parse_requests(const PassArguments& arguments) {
  const std::vector<std::string>& indices = arguments.all("index");
  const std::vector<std::string>& factors = arguments.all("factor");
  const bool described = !factors.empty() || arguments.has("contiguous");
  if (indices.empty() && !described && (arguments.has("auto") || arguments.has("list"))) {
    return {};
  }
  if (indices.empty() && (arguments.has("auto") || arguments.has("list"))) {
    throw Error(ExitCode::usage,
                "--factor and --contiguous are about the loop of an --index, expected one");
  }
  if (indices.empty()) {
    throw Error(ExitCode::usage,
                "no --index is given, expected --index REGION:INDEX --factor P, --auto or --list");
  }
  if (factors.size() != indices.size() && factors.size() != 1) {
    throw Error(ExitCode::usage, fmt::format("{} --index and {} --factor are given, expected a "
                                             "factor for each index, or one for all",
                                             indices.size(), factors.size()));
  }
  std::vector<CopiesRequest> requests;
  for (size_t i = 0; i < indices.size(); ++i) {
    requests.push_back(parse_index(indices[i]));
    requests.back().factor = parse_copies("factor", factors[factors.size() == 1 ? 0 : i]);
  }
  return requests;
}

size_t find_region(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].name == name) return r;
    names.push_back(program.regions[r].name);
  }
  throw Error(ExitCode::rejected,
              fmt::format("there is no region @{}{}", quote_if_needed(name),
                          did_you_mean(name, names, {}, ", did you mean @", "?")));
}

/// A factor of 1 takes an entry away.
void set_entry(Schedule& schedule, const CopiesRequest& request, bool contiguous) {
  std::vector<Parallel>& entries = schedule.parallel;
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Parallel& entry) {
    return entry.index == request.index;
  });
  if (found != entries.end()) entries.erase(found);
  if (request.factor > 1) entries.push_back({request.index, request.factor, contiguous});
}

/// Copies that the estimate says pay.
Program with_chosen_copies(const Program& given, const PassArguments& arguments, PassLog& log) {
  return by_estimate(given, arguments, log, [&](CostModel& costs) {
    Candidate copied{given, {}};
    copied.program = choose_copies(given, costs, arguments.has("verbose"), copied.log);
    return choose({{given, {}}, std::move(copied)}, 0, "copies", costs, log);
  });
}

Program run_parallelize(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = arguments.has("auto") ? with_chosen_copies(given, arguments, log) : given;
  std::set<size_t> touched;
  for (const CopiesRequest& request : parse_requests(arguments)) {
    const size_t r = find_region(program, request.region);
    if (program.regions[r].statements.empty()) {
      throw Error(ExitCode::rejected, program.regions[r].where,
                  fmt::format("region @{} has only a graph, expected statements",
                              quote_if_needed(request.region)));
    }
    if (touched.insert(r).second) complete_schedule(program, r, log);
    Region& region = program.regions[r];
    at_region(region, [&] {  // its message names the nearest one
      static_cast<void>(region_indices(program, r).find({request.index}));
    });
    set_entry(region.schedule, request, arguments.has("contiguous"));
    region.graph.reset();
  }
  for (const size_t r : touched) {
    const Region& region = program.regions[r];
    const Graph graph = at_region(region, [&] { return lower_region(program, r); });
    if (given.regions[r].graph) program.regions[r].graph = graph;
    if (arguments.has("verbose")) {
      log.note(fmt::format("@{}: {} nodes", quote_if_needed(region.name), graph.nodes.size()));
    }
  }
  if (arguments.has("list")) log.list(copies_csv(program));
  return program;
}

void check_parallelize(const PassArguments& arguments) {
  static_cast<void>(machine_of(arguments));
  static_cast<void>(parse_requests(arguments));
}

}  // namespace

Pass parallelize_pass() {
  return {"parallelize",
          "Choose or list parallel copies of the bodies of loops",
          {{"index", "REGION:INDEX", "A loop to split over copies; repeatable, also nested", true},
           {"factor", "P", "How many copies; one for each --index, or one for all", true},
           {"contiguous", "", "Copies take ranges of coordinates (default: elements in turn)"},
           {"auto", "", "Choose by estimate"},
           {"list", "",
            "Print loops, their copies, and where none can be, as CSV instead of the program"},
           {"machine", "NAME|FILE", "--auto: preset or TOML file (default: ideal)"},
           {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true},
           {"verbose", "", "Print the size of each region's graph; --auto: what else was tried"}},
          run_parallelize,
          check_parallelize};
}

}  // namespace fuseflow
