#include "explore/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "explore/journal.h"
#include "explore/pace.h"
#include "explore/search_program.h"
#include "explore/whole_program.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "passes/pass.h"
#include "support/error.h"
#include "support/fnv1a.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

/// What a journal must have been written for.
std::string identity(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  const SearchSpace& s = options.space;
  std::string text = fmt::format(
      "{}{}{} {} {} {} {} {}", print_program(kernels), print_machine(machine), s.max_kernels,
      s.max_orders, s.max_placements, s.max_copies, s.max_climbs, fmt::join(options.blocks, " "));
  if (options.planned) text += ";" + options.planned->name;
  for (const Seed& seed : options.seeds) {
    text += ";" + seed.name;
    for (const Seed::Part& part : seed.parts) {
      text += fmt::format(" {}-{} {}", part.first, part.last, part.schedule.order.size());
    }
  }
  return fmt::format("{:016x}", fnv1a(text));
}

/// Every dimension that can be has blocks of `side`; nothing if none can be, or what is lowered
/// from it would not work.
std::optional<Program> blocked(const Program& kernels, int64_t side, std::string& why) {
  PassArguments arguments;
  arguments.add("block-all", fmt::format("{}", side));
  PassLog log;
  try {
    return run_pass(find_pass("block"), kernels, arguments, log);
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    why = error.what();
    return std::nullopt;
  }
}

void add_variant(SearchResult& all, SearchResult found, int64_t side) {
  all.objective = found.objective;
  const auto cost = [&](const SearchResult& r) { return cost_of(all.objective, r.best); };
  const bool better = found.best.cycles > 0 && (all.best.cycles == 0 || cost(found) < cost(all));
  all.front = merged(std::move(all.front), found.front);
  for (Trial& t : all.trials) t.best = t.best && !better;
  for (Trial& t : found.trials) {
    t.block = side;
    t.best = t.best && better;
    all.trials.push_back(std::move(t));
  }
  if (side == 1) {
    all.unfused = found.unfused;
    all.unfused_copies = found.unfused_copies;
    all.seeds = std::move(found.seeds);
  }
  if (better) {
    all.best = found.best;
    all.program = std::move(found.program);
  }
  all.unfinished.insert(all.unfinished.end(), found.unfinished.begin(), found.unfinished.end());
  if (side == 1 || all.notes.empty()) {
    all.notes.insert(all.notes.end(), found.notes.begin(), found.notes.end());
  }
}

SearchResult search_prepared(const Program& kernels, const Machine& machine,
                             const SearchOptions& options) {
  Journal journal(options.journal, identity(kernels, machine, options));
  Record record(journal, options.merge);  // before anything is planned: files may be no shards
  SearchResult all;
  size_t next_id = 0;
  size_t searches = options.blocks.size();
  for (const int64_t side : options.blocks) {
    if (interrupted()) break;
    const SearchOptions own = next_of(searches--, options);
    std::string why;
    const std::optional<Program> program =
        side == 1 ? std::optional<Program>(kernels) : blocked(kernels, side, why);
    if (!program) {
      all.notes.push_back(fmt::format("blocks of {} are not possible: {}", side, why));
      continue;
    }
    try {
      add_variant(all, search_program(*program, machine, own, record, next_id), side);
    } catch (const Error& error) {
      if (side == 1 || error.code() == ExitCode::internal) throw;
      all.notes.push_back(fmt::format("blocks of {}: {}", side, error.what()));
    }
  }
  if (all.trials.empty() && !interrupted()) {
    throw Error(ExitCode::rejected, "the search space is empty: --blocks leaves no program");
  }
  finish_best(all, machine, options.threads);
  return all;
}

}  // namespace

SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  Program program = kernels;
  // As whatever is lowered as a whole, so that fuseflow-sim does the same.
  for (std::string& note : nest_tuples(program)) report(Severity::note, std::move(note));
  return search_prepared(program, machine, options);
}

}  // namespace fuseflow
