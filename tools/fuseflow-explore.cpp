// fuseflow-explore: searches regions, placements and orders for the program of least cycles, energy
// or memory traffic.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "cluster/kernels/kernels.h"
#include "cluster/tile_plans.h"
#include "explore/rewritten.h"
#include "explore/same_kernels.h"
#include "explore/search.h"
#include "explore/search_csv.h"
#include "explore/seeds.h"
#include "explore/summary.h"
#include "import/import.h"
#include "ir/copies.h"
#include "ir/data_facts.h"
#include "ir/residency.h"
#include "lower/density_notes.h"
#include "machine_options.h"
#include "program_tool.h"
#include "progress_line.h"
#include "shell/thread_options.h"
#include "sim/program_run.h"
#include "support/interrupt.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

struct ExploreOptions {
  ProgramOptions filter;
  MachineOptions machine;
  std::string best;
  std::string pareto;
  std::string objective = "cycles";
  std::string shard;
  std::vector<std::string> seeds;
  bool tiles = false, no_tiles = false;  ///< neither: tiles where the machine has cores
  SearchOptions search;
  bool rewrite = false;
  bool allow_reassociation = false;
};

/// What is minimised, and what is written beside the CSV.
void add_result_options(CommandLine& app, ExploreOptions& o) {
  app.add_option("--best", o.best, "Write the best program as IR").option_text("FILE");
  app.add_option("--objective", o.objective,
                 "Quantity to minimise; edp is energy times time (default: cycles)")
      .option_text("cycles|energy|edp|dram_bytes")
      .among(objective_names());
  app.add_option("--pareto", o.pareto,
                 "Write the Pareto front of cycles and energy of the simulated points as CSV")
      .option_text("FILE");
}

constexpr int64_t kMost = 65536;  ///< points are made before any is left out

/// Which points there are.
void add_space_options(CommandLine& app, ExploreOptions& o) {
  app.add_option("--max-kernels", o.search.space.max_kernels,
                 "Most kernels of one region (default: 32)")
      .option_text("N")
      .between(0, kMost);
  app.add_option("--max-orders", o.search.space.max_orders,
                 "Most orders tried for a placement (default: 8)")
      .option_text("N")
      .between(0, kMost);
  app.add_option("--max-placements", o.search.space.max_placements,
                 "Most placements tried for a region (default: 12)")
      .option_text("N")
      .between(0, kMost);
  app.add_option("--max-copies", o.search.space.max_copies,
                 "Most parallel copies of one node; 1: none (default: 64)")
      .option_text("N")
      .between(1, kMost);
  app.add_option("--blocks", o.search.blocks,
                 "Sides of dense blocks, one search for each, e.g. 1,16 (default: 1, no blocks)")
      .option_text("B,...")
      .delimiter(',')
      .one_a_use()
      .between(1, 4096);
  app.add_option(
         "--max-climbs", o.search.space.max_climbs,
         "Most runs of kernels for which copies and sets of placements are tried (default: 64)")
      .option_text("N")
      .between(0, kMost);
  app.add_option(
         "--seed", o.seeds,
         "Also try the regions of this program, which has the same kernels (repeatable; those of "
         "--strategy=none, layer and full are always tried)")
      .option_text("FILE")
      .one_a_use();
  const Option& tiles = app.add_flag(
      "--tiles", o.tiles,
      "Also try the kernels, chains and attentions of tiles that fuseflow-cluster makes of the "
      "program (default on a machine with cores)");
  app.add_flag("--no-tiles", o.no_tiles, "Search streams only").excludes(tiles);
  const Option& rewrite = app.add_flag(
      "--rewrite", o.rewrite,
      "Also search the program as fuseflow-rewrite rewrites it, each search in half of the time, "
      "and print the search that found the better program");
  app.add_flag("--allow-reassociation", o.allow_reassociation,
               "Rewriting may change the order in which sums add")
      .needs(rewrite);
}

/// How the points are searched: how long, in how many parts.
void add_search_options(CommandLine& app, ExploreOptions& o) {
  app.add_flag("--exhaustive", o.search.exhaustive,
               "Simulate every point to its end, without pruning");
  app.add_option(
         "--budget-seconds", o.search.budget_seconds,
         "After S seconds simulate only the best points by estimate and the regions of seeds "
         "(none, layer, full, auto, --seed), so that the result is never worse than the best seed")
      .option_text("S")
      .number_above(0);
  app.add_option("--resume", o.search.journal,
                 "Journal of simulated points: continue from it and append to it")
      .option_text("FILE");
  app.add_option("--shard", o.shard, "Simulate only part I of N (I from 0) of the points")
      .option_text("I/N");
  app.add_option(
         "--merge", o.search.merge,
         "CSV of a shard: given those of all shards, print what one search would (repeatable)")
      .option_text("FILE")
      .one_a_use();
}

void add_options(CommandLine& app, ExploreOptions& o) {
  add_program_options(app, o.filter);
  add_machine_options(app, o.machine);
  add_result_options(app, o);
  add_space_options(app, o);
  add_search_options(app, o);
  add_threads_option(app, o.search.threads);
}

void parse_shard(const std::string& text, SearchOptions& search) {
  if (text.empty()) return;
  const size_t slash = text.find('/');
  const auto digits = [](const std::string& s) {
    return !s.empty() && s.size() < 7 && s.find_first_not_of("0123456789") == std::string::npos;
  };
  if (slash == std::string::npos || !digits(text.substr(0, slash)) ||
      !digits(text.substr(slash + 1))) {
    throw Error(ExitCode::usage, "--shard " + text + " is malformed, expected I/N, e.g. 0/4");
  }
  search.shard = std::stoul(text.substr(0, slash));
  search.shards = std::stoul(text.substr(slash + 1));
  search.marks_shard = true;
  if (search.shard >= search.shards) {
    throw Error(ExitCode::usage, "--shard " + text + ": expected I from 0 to N-1");
  }
}

/// How far the search is, and how long it still takes at most.
class Progress {
 public:
  explicit Progress(double budget_seconds) : budget_(budget_seconds) {}

  void operator()(const SearchProgress& at) {
    const std::lock_guard lock(mutex_);
    if (at.what != what_) {
      what_ = at.what;
      began_ = line_.seconds();
    }
    if (!line_.due()) return;
    const std::string best =
        at.best.empty() ? std::string() : fmt::format(", best so far {}", at.best);
    line_.draw(fmt::format("{}: {} of {}{}, {:.0f} s{}", what_, at.done, at.all, best,
                           line_.seconds(), left(at)));
  }

 private:
  /// The time left: of the budget, or of this phase as it went so far (later points are left out
  /// more often).
  std::string left(const SearchProgress& at) const {
    if (budget_ > 0) {
      return fmt::format(", at most {:.0f} s left", std::max(0.0, budget_ - line_.seconds()));
    }
    const double spent = line_.seconds() - began_;
    if (at.done == 0 || spent < 1) return "";
    const double each = spent / static_cast<double>(at.done);
    return fmt::format(", at most {:.0f} s left of this",
                       each * static_cast<double>(at.all - std::min(at.done, at.all)));
  }

  double budget_;
  std::mutex mutex_;
  ProgressLine line_;
  std::string what_;
  double began_ = 0;
};

std::string why_unvisited(const SearchOptions& search) {
  if (interrupted()) return "the search was interrupted";
  if (!search.merge.empty()) return "no shard has simulated them";
  return "the time of --budget-seconds was up";
}

void choose_objective(ExploreOptions& o, const Machine& machine) {
  o.search.objective = *find_objective(o.objective);
  const bool of_energy =
      o.search.objective == Objective::energy || o.search.objective == Objective::edp;
  if (machine.has_energy) return;
  if (of_energy || !o.pareto.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: machine {} does not say what actions cost; expected one with a "
                            "section `[energy]`, such as --machine rda",
                            of_energy ? "--objective " + o.objective : "--pareto", machine.name));
  }
}

/// Whether the cores of the machine are searched, too: where it has any, unless it is refused.
bool with_tiles(const ExploreOptions& o, const Machine& machine) {
  if (machine.has_cores || !o.tiles) return machine.has_cores && !o.no_tiles;
  throw Error(ExitCode::usage, fmt::format("--tiles: machine {} has no cores; expected one with a "
                                           "section `[core]`, such as --machine rda",
                                           machine.name));
}

/// What the machine's cores can run, as seeds of the search: runs of kernels, and plans with
/// tensors of their own (statements divided, copies read) as they are.
PlannedSeeds seeds_of_tiles(const Program& kernels, const Machine& machine, int threads,
                            const KeptProgram& kept) {
  PlannedSeeds seeds;
  std::vector<std::string> notes;
  for (PlannedProgram& plan :
       cluster::tile_plans(kernels, machine, {.threads = threads}, kept, notes)) {
    Seed runs = planned_seed(kernels, std::move(plan.program), plan.name);
    if (!runs.parts.empty()) seeds.runs.push_back(std::move(runs));
    if (plan.whole) seeds.wholes.push_back({plan.name, std::move(*plan.whole)});
  }
  for (std::string& note : notes) report(Severity::note, std::move(note));
  if (seeds.runs.empty() && seeds.wholes.empty()) {
    report(Severity::note,
           "no run of kernels has a form of tiles, so streams alone are searched; "
           "fuseflow-cluster says why");
  }
  return seeds;
}

/// What is read, with its intermediates stored as tiles want them where nothing else should run.
/// What stays on chip between its regions is left to a seed, the whole program.
Program kernels_to_search(ExploreOptions& o, const Machine& machine, bool tiles) {
  Program kernels = without_copy_regions(read_program(o.filter));
  Program whole = kernels;
  if (std::string note = drop_residents(kernels); !note.empty()) {
    report(Severity::note, std::move(note));
    o.search.given = std::move(whole);
  }
  if (tiles && !machine.has_streams) cluster::store_temporaries_dense(kernels);
  return kernels;
}

/// Options that exclude each other, and files that cannot be written: before anything is read.
void check_options(const ExploreOptions& o) {
  if (!o.best.empty() && o.search.shards > 1) {
    throw Error(ExitCode::usage, "--best needs all points: give it with --merge, not with --shard");
  }
  if (!o.shard.empty() && !o.search.merge.empty()) {
    throw Error(ExitCode::usage,
                "--merge takes the CSVs of all shards and simulates nothing; expected it without "
                "--shard");
  }
  if (o.rewrite && (!o.shard.empty() || !o.search.merge.empty() || !o.search.journal.empty())) {
    throw Error(ExitCode::usage,
                "--rewrite searches two programs, but --shard, --merge and --resume are of one: "
                "expected `fuseflow-rewrite` before fuseflow-explore instead");
  }
  check_outputs({{"-o", o.filter.output},
                 {"--best", o.best},
                 {"--pareto", o.pareto},
                 {"--resume", o.search.journal, "fuseflow-explore journal "}});
}

/// The programs of --seed, which compute what `kernels` do.
void read_seeds(const Program& kernels, ExploreOptions& o) {
  for (const std::string& path : o.seeds) {
    const std::string name = path.substr(path.rfind('/') + 1);
    Program seed = on_same_data(
        kernels, without_copy_regions(read_program(path, "", bindings_of(o.filter.bound))));
    static_cast<void>(find_data_facts(seed));
    o.search.seeds.push_back({name, std::move(seed)});
  }
}

/// Writes the CSV, the front and the best program; one that fails does not cost the others. Notes
/// and the summary go to standard error.
void write_results(const Program& kernels, const Machine& machine, bool tiles,
                   const ExploreOptions& o, SearchResult& result) {
  std::optional<Error> unwritten;
  const auto write = [&](const std::string& file, const std::string& text) {
    if (!file.empty()) attempt(unwritten, [&] { write_output(file, text); });
  };
  write(o.filter.output, search_csv(kernels, machine, result));
  write(o.pareto, pareto_csv(kernels, machine, result.front));
  if (tiles && result.program) warn_of_streams(*result.program, machine);
  if (!o.best.empty() && result.program) {
    attempt(unwritten, [&] { write_program(o.best, std::move(*result.program)); });
  }
  for (const std::string& note : result.notes) report(Severity::note, note);
  say(search_summary(kernels, machine, result, why_unvisited(o.search)));
  for (const std::string& seed : result.unfinished) {
    report(Severity::warning, "time did not suffice for all regions of the seed " + seed);
  }
  if (unwritten) throw Error(*unwritten);
}

/// Whether the search came to its end; a warning says why not.
ExitCode how_it_ended(const SearchResult& result, bool whole) {
  if (interrupted()) {
    report(Severity::warning, result.best.cycles > 0
                                  ? "interrupted: the best so far"
                                  : "interrupted before a complete program was simulated");
    return ExitCode::unfinished;
  }
  if (result.best.cycles == 0 && whole) {
    report(Severity::warning, "no complete program was simulated in time");
    return ExitCode::unfinished;
  }
  return ExitCode::ok;
}

ExitCode explore_main(ExploreOptions& o) {
  parse_shard(o.shard, o.search);
  check_options(o);
  const Machine machine = o.machine.load();
  choose_objective(o, machine);
  const bool tiles = with_tiles(o, machine);
  Program kernels = kernels_to_search(o, machine, tiles);
  const DataRead read = find_data_facts(kernels);  // held until the search has loaded them
  if (o.search.given) static_cast<void>(find_data_facts(*o.search.given));
  for (const std::string& line : density_notes(kernels)) report(Severity::note, line);
  if (!tiles) warn_of_streams(kernels, machine);
  read_seeds(kernels, o);
  if (tiles) {
    o.search.tiles = cluster::tile_planner();
    o.search.planned = SeedMaker{"tiles", [&](const Program& searched, const KeptProgram& kept) {
                                   return seeds_of_tiles(searched, machine, o.search.threads, kept);
                                 }};
  }
  const TensorData held = load_tensors(kernels);  // before signals are caught: they end it
  const InterruptScope scope;
  SearchResult result;
  {
    Progress progress(o.search.budget_seconds);
    o.search.progress = std::ref(progress);
    result = o.rewrite ? search_rewritten(kernels, machine, o.search, o.allow_reassociation)
                       : search(kernels, machine, o.search);
  }
  write_results(kernels, machine, tiles, o, result);
  return how_it_ended(result, o.search.shards == 1);
}

int tool_main(int argc, char** argv) {
  CommandLine app{
      "Searches regions, placements, orders, blocks and parallel copies for the program with the "
      "fewest cycles (or least energy or memory traffic). The input has one region per kernel, as "
      "fuseflow-import writes it. Prints everything that was tried as CSV.",
      "fuseflow-explore"};
  ExploreOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return explore_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
