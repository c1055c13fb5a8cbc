#include "passes/rewrite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/residency.h"
#include "passes/by_estimate.h"
#include "passes/choose.h"
#include "passes/costs_after.h"
#include "passes/pass_list.h"
#include "passes/pass_on_chip.h"
#include "rewrite/rewrite.h"
#include "support/csv.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Effort of a search beyond that of the program itself, or as many times that.
constexpr double kMostEffort = 20000;
constexpr double kMostPrograms = 30;
/// A program of more tokens than these is counted only if statistics do not expect it to take so
/// many times the cycles of the present one: some would take gigabytes to be counted.
constexpr double kManyTokens = 2e6;
constexpr double kHopeless = 3;
/// What rewrites make of a program of fewer tokens than these takes little to be counted.
constexpr double kFewTokens = 1e5;
/// Elements of the largest tensor that is read for what is known of its values.
constexpr double kMostElements = 1 << 24;

struct Settings {
  Machine machine;
  bool allow_reassociation = false;
  bool fused = false;  ///< programs are judged only by what fuse makes of them
  bool apart = false;  ///< ... only as they stand
  size_t apply = 0;    ///< the number of one rewrite of the list; 0: by cost
};

Settings parse_settings(const PassArguments& arguments) {
  Settings settings;
  settings.machine = machine_of(arguments);
  settings.allow_reassociation = arguments.has("allow-reassociation");
  settings.fused = arguments.has("fused");
  settings.apart = arguments.has("apart");
  if (settings.fused && settings.apart) {
    throw Error(ExitCode::usage, "--fused and --apart exclude each other, expected one of them");
  }
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

/// Judges programs by what fuse makes of them.
std::unique_ptr<CostModel> fused_costs(const PassArguments& arguments, const Settings& settings) {
  PassArguments fuse;
  fuse.costs = arguments.costs;
  if (arguments.has("machine")) fuse.add("machine", arguments.get("machine"));
  for (const std::string& set : arguments.all("machine-set")) fuse.add("machine-set", set);
  return costs_after(find_pass("fuse"), std::move(fuse), arguments.costs(settings.machine));
}

/// What is asked first.
std::unique_ptr<CostModel> costs_for(const PassArguments& arguments, const Settings& settings) {
  return settings.fused ? fused_costs(arguments, settings) : arguments.costs(settings.machine);
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

/// Chooses rewrites one after another, the best of the moment first, until none is better. `fused`
/// (if there is one) is asked, too: no rewrite may lose there.
class RewriteSearch {
 public:
  RewriteSearch(const Program& given, bool allow_reassociation, CostModel& costs, CostModel* fused)
      : given_(given),
        reorders_(allow_reassociation),
        costs_(costs),
        fused_(fused),
        finder_(given),
        now_{{given, {}}, {}, {}} {}

  Candidate run() {
    const double before = costs_.effort();
    now_.cost = costs_.of_program(given_);
    const double once = costs_.effort() - before;
    most_effort_ = costs_.effort() + std::max(kMostEffort, kMostPrograms * once);
    while (now_.cost && has_time() && improve()) {
    }
    remove_unused(now_.candidate.program, static_cast<TensorId>(given_.tensors.size()));
    return std::move(now_.candidate);
  }

 private:
  struct PromisingRewrite {
    std::string text;
    double cycles = 0;
  };
  using Round = std::vector<PromisingRewrite>;

  /// A program and what it takes; `fused`: nothing as long as nobody has asked.
  struct State {
    Candidate candidate;
    std::optional<Cost> cost, fused;
  };

  bool has_time() const { return costs_.effort() - guesses_ < most_effort_; }

  std::vector<Rewrite> usable() {
    std::vector<Rewrite> found = finder_.of(now_.candidate.program);
    std::erase_if(
        found, [&](const Rewrite& r) { return !r.refused.empty() || (r.reorders && !reorders_); });
    return found;
  }

  std::optional<Cost> guess_of(const Program& program) {
    std::vector<size_t> regions(program.regions.size());
    std::iota(regions.begin(), regions.end(), size_t{0});
    const double before = costs_.effort();
    std::optional<Cost> guess = costs_.guess_of_regions(program, regions);
    guesses_ += costs_.effort() - before;
    return guess;
  }

  /// Whether a program is so much slower than that of now that it need not be counted.
  bool is_hopeless(const Program& program, const std::optional<Cost>& now) {
    if (!now) return false;
    const std::optional<Cost> guess = guess_of(program);
    return guess && guess->tokens > kManyTokens && guess->cycles > kHopeless * now->cycles;
  }

  /// What is better than the program of now, the best first.
  Round promising() {
    Round round;
    const Program& now = now_.candidate.program;
    const bool small = now_.cost->tokens < kFewTokens;
    const std::optional<Cost> guess = small ? std::nullopt : guess_of(now);
    for (const Rewrite& rewrite : usable()) {
      if (!has_time()) break;
      const std::string text = text_of(now, rewrite);
      if (lost_.count(text) > 0) continue;
      std::vector<std::string> notes;
      const Program rewritten = apply_rewrite(now, rewrite, notes);
      if (is_hopeless(rewritten, guess)) continue;
      const auto cost = costs_.of_program(rewritten);
      if (better(cost, now_.cost)) round.push_back({text, cost->cycles});
    }
    std::stable_sort(
        round.begin(), round.end(),
        [](const PromisingRewrite& a, const PromisingRewrite& b) { return a.cycles < b.cycles; });
    return round;
  }

  /// Takes what is better than the program of now, each with those before it. Where all together
  /// lose once fused, one by one: few do, and fusing takes long.
  bool improve() {
    const Round round = promising();
    State before = now_;
    bool any = false;
    for (const PromisingRewrite& one : round) any |= has_time() && take(one);
    if (!any || keeps_fused(before)) return any;
    now_ = std::move(before);
    any = false;
    for (const PromisingRewrite& one : round) any |= has_time() && take_if_it_keeps_fused(one);
    return any;
  }

  bool take_if_it_keeps_fused(const PromisingRewrite& one) {
    State before = now_;
    if (!take(one)) return false;
    if (keeps_fused(before)) return true;
    lost_.insert(one.text);
    before.candidate.log.note(fmt::format(
        "left as it is: {}; as it stands {}, but once fused {} (--apart takes it)", one.text,
        gain_text(*now_.cost, *before.cost), gain_text(*now_.fused, *before.fused)));
    now_ = std::move(before);
    return false;
  }

  /// Whether fuse makes nothing slower of the program of now than of the one before.
  bool keeps_fused(State& before) {
    if (fused_ == nullptr) return true;
    if (!before.fused) before.fused = fused_->of_program(before.candidate.program);
    now_.fused = fused_->of_program(now_.candidate.program);
    return !better(before.fused, now_.fused);
  }

  bool take(const PromisingRewrite& one) {
    for (const Rewrite& rewrite : usable()) {
      Candidate& now = now_.candidate;
      if (text_of(now.program, rewrite) != one.text) continue;
      std::vector<std::string> notes;
      Program program = apply_rewrite(now.program, rewrite, notes);
      const auto cost = costs_.of_program(program);
      if (!better(cost, now_.cost)) return false;
      note_rewrite(now.program, rewrite, now.log);
      for (std::string& note : notes) now.log.note(std::move(note));
      now.program = std::move(program);
      now_.cost = cost;
      return true;
    }
    return false;  // what was done before made it impossible
  }

  const Program& given_;
  const bool reorders_;  ///< whether rewrites may reorder sums
  CostModel& costs_;
  CostModel* const fused_;
  Finder finder_;
  State now_;
  std::set<std::string> lost_;  ///< rewrites that would lose once fused
  double most_effort_ = 0;
  double guesses_ = 0;  ///< effort that does not count: what is not counted is left out for it
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
  const bool both = !settings.fused && !settings.apart;
  const auto fused = both ? fused_costs(arguments, settings) : nullptr;
  Program result = rewrite_by_cost(given, settings.machine, settings.allow_reassociation,
                                   *costs_for(arguments, settings), log, fused.get());
  if (std::string note = note_returned(given, result); !note.empty()) log.note(std::move(note));
  return result;
}

void check_rewrite(const PassArguments& arguments) {
  static_cast<void>(parse_settings(arguments));
}

std::string csv_cycles(const std::optional<Cost>& cost) {
  return cost && std::isfinite(cost->cycles) ? fmt::format("{:.0f}", cost->cycles) : "";
}

}  // namespace

Program rewrite_by_cost(const Program& given, const Machine& machine, bool allow_reassociation,
                        CostModel& costs, PassLog& log, CostModel* fused) {
  Program program = given;
  const bool stayed = !drop_residents(program).empty();  // other statements pass on other tensors
  std::vector<Candidate> candidates{{given, {}}};
  Candidate found = RewriteSearch(program, allow_reassociation, costs, fused).run();
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
                        rewrite.reorders ? "yes" : "no", csv_cycles(cost), csv_cycles(given),
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
        "Compare programs only as fuseflow-fuse would fuse them (default: compare them as they "
        "stand, and leave out rewrites that lose once fused)"},
       {"apart", "", "Compare programs only as they stand, for a run without fuseflow-fuse"},
       {"apply", "N", "Apply rewrite N of --list, whatever it costs"},
       {"machine", "NAME|FILE", "Machine of the estimate: preset or TOML file (default: ideal)"},
       {"machine-set", "KEY=VALUE", "Set a constant of the machine; repeatable", true}},
      run_rewrite,
      check_rewrite};
}

}  // namespace fuseflow
