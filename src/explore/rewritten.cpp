#include "explore/rewritten.h"

#include <fmt/format.h>

#include "estimate/pass_costs.h"
#include "explore/search_clock.h"
#include "ir/print.h"
#include "passes/rewrite.h"

namespace fuseflow {

namespace {

bool complete(const SearchResult& result) {
  return result.best.cycles > 0;
}

double cost_of(const SearchResult& result) {
  return cost_of(result.objective, result.best);
}

std::string best_text(const SearchResult& result, const Machine& machine) {
  return complete(result) ? amount_text(result.objective, machine, cost_of(result))
                          : "no complete program";
}

}  // namespace

SearchResult search_rewritten(Program& kernels, const Machine& machine,
                              const SearchOptions& options, bool allow_reassociation) {
  EstimatedCosts costs(machine);
  PassLog log;
  Program rewritten = rewrite_by_cost(kernels, machine, allow_reassociation, costs, log);
  if (print_program(rewritten) == print_program(kernels)) {
    SearchResult result = search(kernels, machine, options);
    result.notes.emplace_back("no rewrite gains by estimate: the program was searched as given");
    return result;
  }
  SearchResult given = search(kernels, machine, next_of(2, options));
  SearchOptions own = next_of(1, options);
  own.seeds.clear();
  own.given.reset();
  SearchResult other = search(rewritten, machine, own);
  const bool wins = complete(other) && (!complete(given) || cost_of(other) < cost_of(given));
  const std::string note = fmt::format("the best of the program as given: {}; rewritten: {}",
                                       best_text(given, machine), best_text(other, machine));
  SearchResult& result = wins ? other : given;
  if (wins) {
    kernels = std::move(rewritten);
    for (const std::string& line : log.lines()) result.notes.push_back("rewrite: " + line);
  }
  result.notes.push_back(note);
  return std::move(result);
}

}  // namespace fuseflow
