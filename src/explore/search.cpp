#include "explore/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "explore/identity.h"
#include "explore/journal.h"
#include "explore/search_clock.h"
#include "explore/search_program.h"
#include "explore/seeds.h"
#include "explore/shard.h"
#include "explore/whole_program.h"
#include "lower/lower.h"
#include "passes/pass.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// Every dimension that can be has blocks of `side`; nothing if none can be, or what is lowered
/// from it would not work.
std::optional<Program> blocked(const Program& kernels, int64_t side, std::string& why) {
  PassArguments arguments;
  arguments.add("block-all", fmt::format("{}", side));
  PassLog log;
  const auto run = [&] {
    return std::optional<Program>(run_pass(find_pass("block"), kernels, arguments, log));
  };
  return unless_refused(run, &why);
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
  all.wholes.insert(all.wholes.end(), found.wholes.begin(), found.wholes.end());
  all.unfinished.insert(all.unfinished.end(), found.unfinished.begin(), found.unfinished.end());
  if (side == 1 || all.notes.empty()) {
    all.notes.insert(all.notes.end(), found.notes.begin(), found.notes.end());
  }
}

/// What the results belong to; nothing where nobody asks. Data are read for it.
SearchIdentity identity(const Program& kernels, const Machine& machine,
                        const SearchOptions& options) {
  const bool asked = !options.journal.empty() || !options.merge.empty() || options.marks_shard;
  if (!asked) return {};
  return identity_of(kernels, load_tensors(kernels, {}, options.threads), machine, options);
}

/// The searches of the program and of its variants with blocks, whose seeds are their own.
SearchResult search_variants(const Program& kernels, const Machine& machine,
                             const SearchOptions& options, Journal& journal) {
  SearchOptions of_blocks = options;
  of_blocks.given.reset();
  const std::vector<Seed> given = given_runs(kernels, options.seeds);
  SearchResult all;
  size_t next_id = 0;
  size_t searches = options.blocks.size();
  for (const int64_t side : options.blocks) {
    if (interrupted()) break;
    const SearchOptions own = next_of(searches--, side == 1 ? options : of_blocks);
    std::string why;
    const std::optional<Program> program =
        side == 1 ? std::optional<Program>(kernels) : blocked(kernels, side, why);
    if (!program) {
      all.notes.push_back(fmt::format("blocks of {} are not possible: {}", side, why));
      continue;
    }
    try {
      add_variant(all, search_program(*program, side, machine, own, given, journal, next_id), side);
    } catch (const Error& error) {
      if (side == 1) throw;
      all.notes.push_back(fmt::format("blocks of {}: {}", side, error.what()));
    }
  }
  return all;
}

/// The best that there is before anything was simulated: by its estimate fuse has chosen `auto`.
void take_unsimulated(SearchResult& result, const Program& kernels) {
  const auto automatic = std::find_if(result.wholes.begin(), result.wholes.end(),
                                      [](const WholeSeed& seed) { return seed.name == "auto"; });
  const bool known = automatic != result.wholes.end();
  result.program = known ? automatic->program : kernels;
  result.notes.push_back(fmt::format(
      "no program was simulated as a whole by then: the best so far is {}",
      known ? "the seed auto, what fuseflow-fuse chooses by estimate" : "the program as it is"));
}

SearchResult search_prepared(const Program& kernels, const Machine& machine,
                             const SearchOptions& options) {
  const SearchClock pace(options);
  const SearchIdentity search = identity(kernels, machine, options);
  Journal journal(options.journal, search);
  // Before anything is planned: files may be no shards.
  journal.take(read_shards(options.merge, search));
  SearchResult all = search_variants(kernels, machine, options, journal);
  if (all.trials.empty() && !interrupted()) {
    throw Error(ExitCode::rejected, "the search space is empty: --blocks leaves no program");
  }
  if (options.marks_shard) {
    all.mark = {text_of(search), fmt::format("{}/{}", options.shard, options.shards),
                !interrupted()};
  }
  if (options.shards > 1) return all;  // it does not know all
  finish_best(all, machine, options.threads);
  if (options.given) all.wholes.push_back({"input", *options.given});
  all.wholes.insert(all.wholes.end(), options.seeds.begin(), options.seeds.end());
  compare_wholes(all, machine, options.threads, [&] { return pace.out_of_time(); });
  if (interrupted() && !all.program) take_unsimulated(all, kernels);
  return all;
}

}  // namespace

SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  Program program = kernels;
  // Tuples are nested for the whole program, as fuseflow-sim does when it lowers one.
  for (std::string& note : nest_tuples(program)) report(Severity::note, std::move(note));
  return search_prepared(program, machine, options);
}

}  // namespace fuseflow
