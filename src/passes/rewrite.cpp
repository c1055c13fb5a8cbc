#include "passes/rewrite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/residency.h"
#include "machine/load.h"
#include "passes/choose.h"
#include "passes/costs_after.h"
#include "passes/pass_on_chip.h"
#include "rewrite/rewrite.h"
#include "support/csv.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Effort of a search beyond that of the program itself, or as many times that.
constexpr double kMostEffort = 20000;
constexpr double kMostPrograms = 30;
/// Elements of the largest tensor that is read for what is known of its values.
constexpr double kMostElements = 1 << 24;

struct Settings {
  Machine machine;
  bool allow_reassociation = false;
  bool fused = false;  ///< programs are judged by what fuse makes of them
  size_t apply = 0;    ///< the number of one rewrite of the list; 0: by cost
};

Settings parse_settings(const PassArguments& arguments) {
  Settings settings;
  settings.machine = load_machine(arguments.get("machine", "ideal"), arguments.all("machine-set"));
  settings.allow_reassociation = arguments.has("allow-reassociation");
  settings.fused = arguments.has("fused");
  if (!arguments.has("apply")) return settings;
  const std::string text = arguments.get("apply");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), settings.apply);
  if (error != std::errc() || end != text.data() + text.size() || settings.apply == 0) {
    throw Error(
        ExitCode::usage,
        fmt::format("--apply {} is not the number of a rewrite, expected one that --list prints",
                    quoted_string(text)));
  }
  return settings;
}

bool may_read(const Tensor& tensor) {
  double elements = 1;
  for (const Extent& extent : tensor.shape) elements *= static_cast<double>(extent.value);
  if (tensor.source.nnz && !tensor.format.all_dense()) {
    elements = static_cast<double>(*tensor.source.nnz);
  }
  return elements <= kMostElements;
}

/// Finds the rewrites of a program and of what rewrites make of it. Data are read only where a
/// rewrite lacks facts, and once.
class Finder {
 public:
  explicit Finder(const Program& given) : given_(given) {}

  std::vector<Rewrite> of(const Program& program) {
    std::vector<Rewrite> found = find_rewrites(program, proved_tensors(program, read_));
    const bool lacks = std::any_of(found.begin(), found.end(), [](const Rewrite& r) {
      return !r.refused.empty() || !r.assumed.empty();
    });
    if (!lacks || !read_.empty()) return found;
    read_ = read_facts(given_, may_read);
    return find_rewrites(program, proved_tensors(program, read_));
  }

 private:
  const Program& given_;
  std::vector<Facts> read_;  ///< of the given tensors; empty: nothing was read yet
};

/// The cost model of a pass that is run on programs before they are judged.
std::unique_ptr<CostModel> costs_for(const PassArguments& arguments, const Settings& settings) {
  auto costs = arguments.costs(settings.machine);
  if (!settings.fused) return costs;
  PassArguments fuse;
  fuse.costs = arguments.costs;
  if (arguments.has("machine")) fuse.add("machine", arguments.get("machine"));
  for (const std::string& set : arguments.all("machine-set")) fuse.add("machine-set", set);
  return costs_after(find_pass("fuse"), std::move(fuse), std::move(costs));
}

std::string text_of(const Program& program, const Rewrite& rewrite) {
  return fmt::format("{}", fmt::join(statement_texts(program, rewrite), "; "));
}

std::string name_of(const Program& program, TensorId tensor) {
  return "%" + quote_if_needed(program.tensors[static_cast<size_t>(tensor)].name);
}

void note_rewrite(const Program& before, const Rewrite& rewrite, PassLog& log) {
  std::vector<std::string> gone;
  for (const TensorId t : rewrite.removed) gone.push_back(name_of(before, t));
  log.note(fmt::format("{}: {}{}", rewrite_name(rewrite.kind), text_of(before, rewrite),
                       gone.empty() ? "" : fmt::format(" (without {})", fmt::join(gone, ", "))));
  for (const std::string& fact : rewrite.assumed) {
    log.note(fmt::format("assumed: {}; fuseflow-sim --check verifies it", fact));
  }
}

/// Chooses rewrites one after another, the best of the moment first, until none is better.
class RewriteSearch {
 public:
  RewriteSearch(const Program& given, bool allow_reassociation, CostModel& costs)
      : given_(given),
        reorders_(allow_reassociation),
        costs_(costs),
        finder_(given),
        current_{given, {}} {}

  Candidate run() {
    const double before = costs_.effort();
    cost_ = costs_.of_program(given_);
    const double once = costs_.effort() - before;
    most_effort_ = costs_.effort() + std::max(kMostEffort, kMostPrograms * once);
    while (cost_ && has_time() && improve()) {
    }
    remove_unused(current_.program, static_cast<TensorId>(given_.tensors.size()));
    return std::move(current_);
  }

 private:
  struct Promising {
    std::string text;
    double cycles = 0;
  };

  bool has_time() const { return costs_.effort() < most_effort_; }

  std::vector<Rewrite> usable() {
    std::vector<Rewrite> found = finder_.of(current_.program);
    std::erase_if(
        found, [&](const Rewrite& r) { return !r.refused.empty() || (r.reorders && !reorders_); });
    return found;
  }

  /// Tries what is better than the program of now, and then each with those before it.
  bool improve() {
    std::vector<Promising> promising;
    for (const Rewrite& rewrite : usable()) {
      if (!has_time()) break;
      std::vector<std::string> notes;
      const auto cost = costs_.of_program(apply_rewrite(current_.program, rewrite, notes));
      if (!better(cost, cost_)) continue;
      promising.push_back({text_of(current_.program, rewrite), cost->cycles});
    }
    std::stable_sort(promising.begin(), promising.end(),
                     [](const Promising& a, const Promising& b) { return a.cycles < b.cycles; });
    bool any = false;
    for (const Promising& one : promising) any |= has_time() && try_rewrite(one.text);
    return any;
  }

  bool try_rewrite(const std::string& text) {
    for (const Rewrite& rewrite : usable()) {
      if (text_of(current_.program, rewrite) != text) continue;
      std::vector<std::string> notes;
      Program program = apply_rewrite(current_.program, rewrite, notes);
      const auto cost = costs_.of_program(program);
      if (!better(cost, cost_)) return false;
      note_rewrite(current_.program, rewrite, current_.log);
      for (std::string& note : notes) current_.log.note(std::move(note));
      current_.program = std::move(program);
      cost_ = cost;
      return true;
    }
    return false;  // what was done before made it impossible
  }

  const Program& given_;
  const bool reorders_;  ///< whether rewrites may reorder sums
  CostModel& costs_;
  Finder finder_;
  Candidate current_;
  std::optional<Cost> cost_;
  double most_effort_ = 0;
};

Program apply_requested(const Program& program, const Settings& settings, PassLog& log) {
  const std::vector<Rewrite> found = Finder(program).of(program);
  if (settings.apply > found.size()) {
    throw Error(ExitCode::rejected,
                fmt::format("--apply {}: the program has {} rewrite{}, expected one that --list "
                            "prints",
                            settings.apply, found.size(), found.size() == 1 ? "" : "s"));
  }
  const Rewrite& rewrite = found[settings.apply - 1];
  if (!rewrite.refused.empty()) {
    throw Error(ExitCode::rejected, fmt::format("--apply {}: {}", settings.apply, rewrite.refused));
  }
  if (rewrite.reorders && !settings.allow_reassociation) {
    throw Error(ExitCode::rejected,
                fmt::format("--apply {}: sums would add in another order, expected "
                            "--allow-reassociation",
                            settings.apply));
  }
  std::vector<std::string> notes;
  Program result = apply_rewrite(program, rewrite, notes);
  remove_unused(result, static_cast<TensorId>(program.tensors.size()));
  note_rewrite(program, rewrite, log);
  for (std::string& note : notes) log.note(std::move(note));
  return result;
}

void note_what_is_left(const Program& program, const Settings& settings, PassLog& log) {
  size_t reordering = 0, graphs = 0;
  if (!settings.allow_reassociation) {
    for (const Rewrite& r : Finder(program).of(program))
      reordering += r.reorders && r.refused.empty();
  }
  for (const Region& region : program.regions) graphs += region.graph.has_value();
  if (reordering > 0) {
    log.note(
        fmt::format("{} rewrite{} not tried without --allow-reassociation: sums would add in "
                    "another order",
                    reordering, reordering == 1 ? " was" : "s were"));
  }
  if (graphs > 0) {
    log.note(fmt::format("{} region{} left alone because of {}: --drop-graphs removes these",
                         graphs, graphs == 1 ? " was" : "s were",
                         graphs == 1 ? "its graph" : "their graphs"));
  }
}

Program run_rewrite(const Program& given, const PassArguments& arguments, PassLog& log) {
  const Settings settings = parse_settings(arguments);
  if (settings.apply > 0) {
    Program program = given;
    if (std::string note = drop_residents(program); !note.empty()) log.note(std::move(note));
    return apply_requested(program, settings, log);
  }
  note_what_is_left(given, settings, log);
  if (!arguments.costs) {
    log.note("the program stays as it was: its cycles cannot be estimated");
    return given;
  }
  Program result = rewrite_by_cost(given, settings.machine, settings.allow_reassociation,
                                   *costs_for(arguments, settings), log);
  if (std::string note = note_returned(given, result); !note.empty()) log.note(std::move(note));
  return result;
}

void check_rewrite(const PassArguments& arguments) {
  static_cast<void>(parse_settings(arguments));
}

std::string cycles_text(const std::optional<Cost>& cost) {
  return cost && std::isfinite(cost->cycles) ? fmt::format("{:.0f}", cost->cycles) : "";
}

}  // namespace

Program rewrite_by_cost(const Program& given, const Machine& machine, bool allow_reassociation,
                        CostModel& costs, PassLog& log) {
  Program program = given;
  const bool stayed = !drop_residents(program).empty();  // other statements pass on other tensors
  std::vector<Candidate> candidates{{given, {}}};
  Candidate found = RewriteSearch(program, allow_reassociation, costs).run();
  if (stayed) {
    found.program = pass_on_chip(std::move(found.program), machine, costs, found.log);
  }
  candidates.push_back(std::move(found));
  Program chosen = choose(std::move(candidates), 0, "statements", costs, log);
  return not_slower(std::move(chosen), given, costs, log);
}

std::string list_rewrites(const Program& program, const PassArguments& arguments) {
  const Settings settings = parse_settings(arguments);
  const auto costs = costs_for(arguments, settings);
  const auto given = costs->of_program(program);
  std::string text = "rewrite,kind,reorders_sums,cycles,given_cycles,statements,refused,left_out\n";
  size_t number = 0;
  for (const Rewrite& rewrite : Finder(program).of(program)) {
    std::vector<std::string> notes;
    std::optional<Cost> cost;
    if (rewrite.refused.empty()) {
      cost = costs->of_program(apply_rewrite(program, rewrite, notes));
    }
    std::vector<std::string> left_out;
    for (const TensorId t : rewrite.left_out) left_out.push_back(name_of(program, t));
    text += fmt::format("{},{},{},{},{},{},{},{}\n", ++number, rewrite_name(rewrite.kind),
                        rewrite.reorders ? "yes" : "no", cycles_text(cost), cycles_text(given),
                        csv_field(text_of(program, rewrite)), csv_field(rewrite.refused),
                        csv_field(fmt::format("{}", fmt::join(left_out, " "))));
  }
  return text;
}

Pass rewrite_pass() {
  return {
      "rewrite",
      "Apply algebra: products in another order, factors out of sums, common factors and parts "
      "once",
      {{"allow-reassociation", "",
        "Sums may add in another order: results change by rounding, and sums that cannot be "
        "proved finite are assumed to be"},
       {"fused", "",
        "Compare programs as fuseflow-fuse would fuse them, for a pipe that continues with it"},
       {"apply", "N", "Apply rewrite N of --list, whatever it costs"},
       {"machine", "NAME|FILE", "Machine of the estimate: preset or TOML file (default: ideal)"},
       {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true}},
      run_rewrite,
      check_rewrite};
}

}  // namespace fuseflow
