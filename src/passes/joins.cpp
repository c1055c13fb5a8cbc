#include "passes/joins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/names.h"
#include "ir/print.h"
#include "lower/at_region.h"
#include "lower/lower.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/complete_schedule.h"
#include "passes/join_forms.h"
#include "passes/kept_graphs.h"
#include "passes/open_regions.h"
#include "passes/option_names.h"
#include "passes/orders.h"
#include "passes/pass_list.h"
#include "support/csv.h"
#include "support/suggest.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// Climbs from the joins as given: one loop at a time gets the form that costs least.
class JoinSearch {
 public:
  JoinSearch(Program& program, size_t region, CostModel& costs, bool verbose, PassLog& log)
      : program_(program), region_(region), costs_(costs), verbose_(verbose), log_(log) {}

  void run(const std::vector<JoinPlace>& places) {
    cost_ = costs_.of_region(program_, region_);
    if (!cost_) return;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (const std::string& index : joined_indices(places)) {
        changed = choose_form(index, places) || changed;
      }
      if (!changed || places.size() == 1) return;
    }
  }

 private:
  /// Another form trades steps for bytes: it has to gain more than rounding.
  static constexpr double kLeastGain = 0.05;
  static constexpr int kSweeps = 2;
  static constexpr int kMostTried = 64;

  bool choose_form(const std::string& index, const std::vector<JoinPlace>& places) {
    const Program before = program_;
    const Cost given = *cost_;
    const double most = (1 - std::max(kLeastGain, costs_.margin())) * given.cycles;
    const Join current = join_of(before.regions[region_].schedule, index);
    std::vector<std::string> others;
    for (const Join& form : other_forms(places, current)) {
      if (tried_ >= kMostTried) break;
      ++tried_;
      Program candidate = before;
      set_join(candidate.regions[region_].schedule, form);
      const std::optional<Cost> cost = costs_.of_region(candidate, region_);
      others.push_back(fmt::format("{}: {}", join_line(before, form), cycles_text(cost)));
      if (!better(cost, cost_) || cost->cycles > most) continue;
      cost_ = cost;
      program_ = std::move(candidate);
    }
    const Join chosen = join_of(program_.regions[region_].schedule, index);
    const std::string name = quote_if_needed(before.regions[region_].name);
    if (verbose_ && !others.empty()) {
      log_.note(fmt::format("@{}: {}: {:.0f} cycles by estimate; {}", name,
                            join_line(before, current), given.cycles, fmt::join(others, "; ")));
    }
    if (chosen == current) return false;
    log_.note(
        fmt::format("@{}: {}: {}", name, join_line(before, chosen), gain_text(*cost_, given)));
    return true;
  }

  Program& program_;
  const size_t region_;
  CostModel& costs_;
  const bool verbose_;
  PassLog& log_;
  std::optional<Cost> cost_;
  int tried_ = 0;
};

struct JoinRequest {
  std::string region;
  std::string index;
  JoinForm form = JoinForm::merge;
  std::vector<std::string> tensors;
};

/// `region:j=locate:b,c`; the region's name may hold colons.
JoinRequest parse_join_request(const std::string& text) {
  const size_t equals = find_separator(text, '=');
  const size_t colon =
      equals == std::string::npos ? equals : find_last_separator(text.substr(0, equals), ':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == equals) {
    throw Error(ExitCode::usage,
                fmt::format("--join '{}' is malformed, expected a region, one of its indices and a "
                            "form, e.g. --join x:j=locate:b",
                            text));
  }
  JoinRequest request{name_in_option(text.substr(0, colon), '@'),
                      name_in_option(text.substr(colon + 1, equals - colon - 1), '%'),
                      {},
                      {}};
  const std::string value = text.substr(equals + 1);
  const size_t end = std::min(value.size(), value.find(':'));
  const auto form = find_join_form(value.substr(0, end));
  if (!form) {
    throw Error(ExitCode::usage,
                fmt::format("--join '{}': '{}' is not a form of a join, expected one of {}", text,
                            value.substr(0, end), fmt::join(join_form_names(), ", ")));
  }
  request.form = *form;
  if (end < value.size()) {
    for (const std::string& part : parts_of_option(value.substr(end + 1), ',')) {
      request.tensors.push_back(name_in_option(part, '%'));
    }
  }
  if ((request.form == JoinForm::locate) == request.tensors.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("--join '{}': expected tensors after locate, and after nothing else, "
                            "e.g. --join x:j=locate:b",
                            text));
  }
  return request;
}

/// The places where a region joins levels; empty where it cannot be lowered by itself.
std::vector<JoinPlace> places_of(const Program& program, size_t region,
                                 KnownPhases* known = nullptr) {
  LowerOptions options;
  options.buffers = false;
  options.known = known;
  return unless_refused([&] { return lower_region_traced(program, region, options).join_places; });
}

Join resolve_join(const Program& program, const JoinRequest& request) {
  Join join{request.index, request.form, {}};
  for (const std::string& name : request.tensors) {
    const TensorId tensor = find_tensor(program, name);
    if (tensor < 0) {
      std::vector<std::string> known;
      for (const Tensor& t : program.tensors) known.push_back(t.name);
      const std::string near = meant_name(name, known);
      throw Error(
          ExitCode::rejected,
          fmt::format("--join: there is no tensor %{}{}", quote_if_needed(name),
                      near.empty() ? "" : ", did you mean %" + quote_if_needed(near) + "?"));
    }
    join.located.push_back(tensor);
  }
  return join;
}

void apply(Program& program, const JoinRequest& request, PassLog& log) {
  const size_t r = find_regions(program, {request.region})[0];
  complete_schedule(program, r, log);
  Region& region = program.regions[r];
  const Join join = resolve_join(program, request);
  region.graph.reset();
  set_join(region.schedule, join);
  const std::vector<JoinPlace> places =
      at_region(region, [&] { return lower_region_traced(program, r).join_places; });
  if (!has_effect(join, places)) {
    throw Error(
        ExitCode::rejected,
        fmt::format("region @{}: {} changes nothing; it joins {}", quote_if_needed(region.name),
                    join_line(program, join), places_text(program, places)));
  }
  log.note(fmt::format("@{}: {}", quote_if_needed(region.name), join_line(program, join)));
}

/// The text of a join as --join takes it.
std::string form_text(const Program& program, const Join& join) {
  std::vector<std::string> located;
  for (const TensorId t : join.located)
    located.push_back(quote_if_needed(program.tensors[static_cast<size_t>(t)].name));
  std::string text(join_form_name(join.form));
  return located.empty() ? text : text + ":" + fmt::format("{}", fmt::join(located, ","));
}

/// A row for every loop in which levels are joined.
std::string joins_csv(const Program& given) {
  std::string text = "region,index,joined,form,other_forms\n";
  for (size_t r = 0; r < given.regions.size(); ++r) {
    if (given.regions[r].statements.empty()) continue;
    Program program = given;
    PassLog unused;
    complete_schedule(program, r, unused);
    const Region& region = program.regions[r];
    const std::vector<JoinPlace> places = places_of(program, r);
    const bool stays = !why_graph_stays(given, r).empty();
    for (const std::string& index : joined_indices(places)) {
      std::vector<JoinPlace> here = places;
      std::erase_if(here, [&](const JoinPlace& place) { return place.index != index; });
      const Join now = join_of(region.schedule, index);
      std::vector<std::string> others;
      for (const Join& form : other_forms(places, now)) {
        if (!stays) others.push_back(form_text(program, form));
      }
      text += fmt::format("{},{},{},{},{}\n", csv_field(quote_if_needed(region.name)),
                          csv_field(quote_if_needed(index)), csv_field(joined_text(program, here)),
                          csv_field(form_text(program, now)),
                          csv_field(fmt::format("{}", fmt::join(others, " "))));
    }
  }
  return text;
}

Program run_join(const Program& given, const PassArguments& arguments, PassLog& log) {
  Program program = given;
  if (arguments.has("auto")) {
    program = by_estimate(given, arguments, log, [&](CostModel& costs) {
      return choose_joins(given, costs, arguments.has("verbose"), log);
    });
  }
  for (const std::string& text : arguments.all("join"))
    apply(program, parse_join_request(text), log);
  if (arguments.has("list")) log.list(joins_csv(program));
  return program;
}

void check_join(const PassArguments& arguments) {
  static_cast<void>(machine_of(arguments));
  for (const std::string& text : arguments.all("join")) static_cast<void>(parse_join_request(text));
}

}  // namespace

Program choose_joins(Program program, CostModel& costs, bool verbose, PassLog& log) {
  return search_open_regions(
      std::move(program), costs,
      [&](const Program& now, size_t region) { return places_of(now, region, &costs.phases()); },
      [&](Program& now, size_t region, const std::vector<JoinPlace>& places) {
        JoinSearch(now, region, costs, verbose, log).run(places);
      });
}

Pass join_pass() {
  return {
      "join",
      "Choose or list how levels that meet in a loop are joined",
      {{"join", "REGION:J=FORM[:T,...]",
        "Join at this index by merge, words, gallop, or locate:T,... (these tensors); repeatable",
        true},
       {"auto", "", "Choose by estimate"},
       {"list", "",
        "Print the levels that are joined, how, and the other possible forms, as CSV instead of "
        "the program"},
       {"machine", "NAME|FILE", "--auto: preset or TOML file (default: ideal)"},
       {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true},
       {"verbose", "", "--auto: print what else was tried"}},
      run_join,
      check_join};
}

}  // namespace fuseflow
