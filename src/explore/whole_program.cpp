#include "explore/whole_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "estimate/pass_costs.h"
#include "explore/trial.h"
#include "ir/copies.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "passes/pass_on_chip.h"
#include "passes/reused_inputs.h"
#include "sim/program_run.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/fnv1a.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

Amounts amounts_of(const Program& lowered, const ProgramRun& run, const Machine& machine) {
  Amounts amounts;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    amounts += amounts_of(counted(lowered, *lowered.regions[r].graph, machine, run.regions[r]));
    if (r > 0) amounts += pause_of(machine);
  }
  amounts.cycles = static_cast<double>(total_cycles(run, machine));
  return amounts;
}

/// A program that was simulated as a whole.
struct WholeRun {
  Finish finish = Finish::cancelled;
  Amounts amounts;  ///< of one that is done
};

/// `max_cycles`: that it may take; 0: no limit.
WholeRun run_whole(const Program& program, const Machine& machine, int threads,
                   int64_t max_cycles = 0) {
  if (interrupted()) return {};
  const Program lowered = lower_silently(program);
  RunOptions options;
  options.threads = threads;
  options.max_cycles = max_cycles;
  options.explain_deadlock = false;
  options.cancel = &interrupt_flag();
  const ProgramRun run = run_program(lowered, load_tensors(lowered, {}, threads), machine, options);
  WholeRun result{run.finish, {}};
  if (run.finish == Finish::done) result.amounts = amounts_of(lowered, run, machine);
  return result;
}

/// What a program takes; nothing if it was interrupted.
std::optional<Amounts> simulate(const Program& program, const Machine& machine, int threads) {
  const WholeRun run = run_whole(program, machine, threads);
  if (run.finish == Finish::cancelled) return std::nullopt;
  if (run.finish != Finish::done) {
    throw Defect("the best program does not finish, though its regions do");
  }
  return run.amounts;
}

/// Its regions were simulated alone, on results of the unfused program, which differ from theirs by
/// rounding.
void confirm(SearchResult& result, const Machine& machine, int threads) {
  const std::optional<Amounts> whole = simulate(*result.program, machine, threads);
  if (!whole || whole->cycles == result.best.cycles) return;
  const bool copies = std::any_of(
      result.program->regions.begin(), result.program->regions.end(),
      [&](const Region& region) { return !copies_read(*result.program, region).empty(); });
  result.notes.push_back(fmt::format(
      "the best program takes {:.0f} cycles as a whole, its regions alone {:.0f}: {}",
      whole->cycles, result.best.cycles,
      copies ? "the copies that they read were estimated" : "what they read differs in rounding"));
  result.best.cycles = whole->cycles;
  if (copies) result.best = *whole;
}

/// A point is a region by itself, so no point leaves anything on chip for another.
void keep_on_chip(SearchResult& result, const Machine& machine, int threads) {
  EstimatedCosts costs(machine);
  PassLog log;
  Program staying = keep_reused_inputs(*result.program, machine, costs, log);
  staying = pass_on_chip(std::move(staying), machine, costs, log);
  if (log.lines().empty()) return;
  const std::optional<Amounts> whole = simulate(staying, machine, threads);
  if (!whole || whole->cycles >= result.best.cycles) return;
  for (const std::string& line : log.lines()) result.notes.push_back(line);
  result.notes.push_back(
      fmt::format("with what stays on chip the best program takes {:.0f} cycles "
                  "instead of {:.0f}, the sum of its regions alone",
                  whole->cycles, result.best.cycles));
  result.program = std::move(staying);
  result.best = *whole;
}

/// What a seed takes as a whole, beside what its regions take as points.
void note_total(SearchResult& result, const std::string& name, double cost, bool at_least) {
  const auto known = std::find_if(result.seeds.begin(), result.seeds.end(),
                                  [&](const SeedTotal& seed) { return seed.name == name; });
  if (known == result.seeds.end()) {
    result.seeds.push_back({name, cost, at_least});
  } else if (known->cost <= 0 || (known->at_least && (!at_least || cost > known->cost))) {
    *known = {name, cost, at_least};
  } else if (!at_least) {
    known->cost = std::min(known->cost, cost);
  }
}

bool has_streams(const Program& program) {
  return std::any_of(program.regions.begin(), program.regions.end(),
                     [](const Region& region) { return !region.graph || !region.graph->tiles; });
}

/// The name of a seed in a journal: with a hash of its text, since seeds of one name may belong to
/// several searches.
std::string key_of(const WholeSeed& seed) {
  return fmt::format("{} {:016x}", seed.name, fnv1a(print_program(seed.program)));
}

/// Runs one seed, and takes it where it is better.
void compare_whole(SearchResult& result, const WholeSeed& seed, const Machine& machine, int threads,
                   bool late) {
  if (!machine.has_streams && has_streams(seed.program)) {
    result.notes.push_back(fmt::format(
        "the seed {} as a whole is left out: it has regions of streams, which would be free on "
        "machine {}, without units for them",
        seed.name, machine.name));
    return;
  }
  // What is known so far may have streams that are free.
  const bool unfair = !machine.has_streams && result.program && has_streams(*result.program);
  const bool cuts =
      late && !unfair && result.objective == Objective::cycles && result.best.cycles > 0;
  const auto most = cuts ? static_cast<int64_t>(result.best.cycles) : 0;
  const WholeRun run = seed.takes ? WholeRun{Finish::done, *seed.takes}
                                  : run_whole(seed.program, machine, threads, most);
  if (run.finish == Finish::cancelled) return;
  if (run.finish == Finish::max_cycles) {
    return note_total(result, seed.name, static_cast<double>(most), true);
  }
  if (run.finish != Finish::done) {
    result.notes.push_back(fmt::format("the seed {} as a whole does not end", seed.name));
    return;
  }
  const double cost = cost_of(result.objective, run.amounts);
  note_total(result, seed.name, cost, false);
  const bool known = result.best.cycles > 0 && !unfair;
  if (known && cost >= cost_of(result.objective, result.best)) return;
  result.best = run.amounts;
  result.program = seed.program;
  result.program->strategy = "explore";
  result.best_seed = seed.name;
  for (Trial& trial : result.trials) trial.best = false;
}

/// What a journal says of the seed that is the result is held against a simulation, as all best
/// programs are.
void confirm_recalled(const SearchResult& result, const Machine& machine, int threads) {
  for (const WholeSeed& seed : result.wholes) {
    if (!seed.recalled || seed.name != result.best_seed) continue;
    const WholeRun run = run_whole(seed.program, machine, threads);
    if (run.finish == Finish::cancelled) return;
    const auto text = [&](const Amounts& amounts) {
      return amount_text(result.objective, machine, cost_of(result.objective, amounts));
    };
    if (text(run.amounts) == text(*seed.takes)) continue;
    throw Error(ExitCode::rejected,
                fmt::format("--resume: the journal says that the seed {} as a whole takes {}, and "
                            "it takes {}; expected the line that the search wrote: without the "
                            "line `whole,{} ..` it is found again",
                            seed.name, text(*seed.takes), text(run.amounts), seed.name));
  }
}

}  // namespace

void run_seeds(std::vector<WholeSeed>& seeds, const Machine& machine, const SearchOptions& options,
               Journal& journal) {
  for (WholeSeed& seed : seeds) {
    if (interrupted()) return;
    if (!machine.has_streams && has_streams(seed.program)) continue;
    const std::string key = key_of(seed);
    const auto known = journal.memo().wholes.find(key);
    if (known != journal.memo().wholes.end()) {
      seed.takes = known->second;
      seed.recalled = true;
      continue;
    }
    if (options.progress) {
      options.progress({fmt::format("simulating the seed {}", seed.name), 0, 1, ""});
    }
    try {
      const WholeRun run = run_whole(seed.program, machine, options.threads);
      if (run.finish != Finish::done) continue;
      seed.takes = run.amounts;
      journal.append(memo_line(key, run.amounts));
    } catch (const Error&) {  // said when it is compared
    }
  }
}

void finish_best(SearchResult& result, const Machine& machine, int threads) {
  if (!result.program) return;
  confirm(result, machine, threads);
  if (result.objective == Objective::cycles) keep_on_chip(result, machine, threads);
}

void compare_wholes(SearchResult& result, const Machine& machine, int threads,
                    const std::function<bool()>& late) {
  for (const WholeSeed& seed : result.wholes) {
    if (interrupted() && !seed.takes) continue;
    try {
      compare_whole(result, seed, machine, threads, late());
    } catch (const Error& error) {
      result.notes.push_back(
          fmt::format("the seed {} as a whole is left out: {}", seed.name, error.what()));
    }
  }
  if (result.best_seed.empty()) return;
  confirm_recalled(result, machine, threads);
  result.notes.push_back(fmt::format(
      "the best program is the seed {} as a whole, which is more than its regions one by one",
      result.best_seed));
}

}  // namespace fuseflow
