#include "cluster/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"
#include "graph/tile_rows.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostUnits = 64;   ///< regions of one kernel
constexpr size_t kMostResults = 8;  ///< stored by one kernel
constexpr int kMostProducts = 64;   ///< in one kernel

bool any_reduces(const Region& region) {
  return std::any_of(region.statements.begin(), region.statements.end(), reduces);
}

/// Regions [first, end) of a program as one kernel.
struct Run {
  size_t first = 0, end = 0;
  RowsForm form;
  SeparateKernels given;
  RankedRows ranked;
  bool measured = false;
  std::optional<RowsPlan> plan;
  /// Cycles; until it is measured, at most.
  int64_t saves() const {
    const int64_t apart = given.total.cycles;
    if (measured) return plan ? apart - plan->measured.cycles : 0;
    const double least = std::min(ranked.least_cycles(), static_cast<double>(apart));
    return apart - static_cast<int64_t>(std::ceil(least));
  }
};

/// Runs that do not overlap and save the most cycles together, as far as is known, in order.
std::vector<size_t> most_saving(const std::vector<Run>& runs, size_t units) {
  std::vector<int64_t> saved(units + 1, 0);
  std::vector<int> taken(units + 1, -1);
  for (size_t end = 1; end <= units; ++end) {
    saved[end] = saved[end - 1];
    for (size_t r = 0; r < runs.size(); ++r) {
      if (runs[r].end != end) continue;
      const int64_t with = saved[runs[r].first] + runs[r].saves();
      if (with <= saved[end]) continue;
      saved[end] = with;
      taken[end] = static_cast<int>(r);
    }
  }
  std::vector<size_t> best;
  for (size_t end = units; end > 0;) {
    if (taken[end] < 0) {
      --end;
      continue;
    }
    best.push_back(static_cast<size_t>(taken[end]));
    end = runs[best.back()].first;
  }
  std::reverse(best.begin(), best.end());
  return best;
}

/// Finds and measures the runs of a program of graphs of tiles.
class Runs {
 public:
  Runs(const Program& program, const Machine& machine, const RowsOptions& options)
      : program_(program), statements_(program), machine_(machine), options_(options) {}

  /// Where a run may begin or end, beside the ends of what has a form: `cuts[u]` is before unit u.
  std::vector<Run> find(const std::vector<bool>& cuts) {
    std::vector<Run> runs;
    const size_t units = program_.regions.size();
    std::vector<bool> begins(units + 1, false);  // where no longer run has a form
    begins[0] = true;
    for (size_t first = 0; first < units; ++first) {
      if (!cuts[first]) {
        begins[first + 1] = begins[first + 1] || begins[first];
        continue;
      }
      if (!any_reduces(program_.regions[first]) && !begins[first]) continue;
      std::optional<Run> longest;
      size_t end = first + 1;
      for (; end <= std::min(units, first + kMostUnits); ++end) {
        std::optional<RowsForm> form = form_of(first, end);
        if (!form) break;
        const bool last = end == units || cuts[end];
        if (!last) continue;
        Run run{first, end, std::move(*form), {}, {}, false, {}};
        const bool before_next = end < units && any_reduces(program_.regions[end]);
        if (before_next && worth(run)) runs.push_back(run);
        longest = before_next ? std::nullopt : std::optional<Run>(std::move(run));
      }
      begins[std::max(end - 1, first + 1)] = true;
      if (longest && worth(*longest)) runs.push_back(std::move(*longest));
    }
    return runs;
  }

  /// What it takes apart, and which tiles may be faster.
  void judge(Run& run) const {
    KernelSequence sequence(machine_);
    for (size_t u = run.first; u < run.end; ++u) sequence.run(*program_.regions[u].graph);
    run.given = sequence.apart();
    run.ranked = rank_rows(run.form, machine_);
  }

  void measure(Run& run) const {
    if (run.measured) return;
    run.plan = fastest_rows(run.form, run.ranked, machine_, run.given.total.cycles);
    run.measured = true;
  }

  /// Runs that do not overlap and save the most cycles together, in order. Those alone are measured
  /// that may be among them.
  std::vector<size_t> best_of(std::vector<Run>& runs) const {
    for (Run& run : runs) judge(run);
    for (;;) {
      std::vector<size_t> best = most_saving(runs, program_.regions.size());
      const bool known =
          std::all_of(best.begin(), best.end(), [&](size_t r) { return runs[r].measured; });
      if (known) return best;
      for (const size_t r : best) measure(runs[r]);
    }
  }

 private:
  std::optional<RowsForm> form_of(size_t first, size_t end) const {
    std::vector<const Statement*> statements;
    for (size_t u = first; u < end; ++u) {
      const Region& region = program_.regions[u];
      if (!region.graph || !region.graph->tiles) return std::nullopt;
      for (const Statement& s : region.statements) statements.push_back(&s);
    }
    std::string why;
    return rows_form(statements_, statements, why);
  }

  /// Statements: kernels, or a chain, an attention or a folded kernel that may be faster as rows.
  bool has_several(const Run& run) const {
    if (run.end - run.first > 1) return true;
    const Region& only = program_.regions[run.first];
    return only.statements.size() > 1 && !is_tile_rows(*only.graph);
  }

  bool worth(const Run& run) const {
    return has_several(run) && run.form.products + run.form.reductions >= options_.least_work &&
           run.form.products <= kMostProducts && run.form.results.size() <= kMostResults;
  }

  const Program& program_;
  const StatementTable statements_;
  const Machine& machine_;
  const RowsOptions& options_;
};

PlanNotes notes_of(const RowsOutcome& o, const Machine& machine) {
  return {{"kind", "rows"},
          {"machine", machine.name},
          {"products", std::to_string(o.products)},
          {"reductions", std::to_string(o.reductions)},
          {"tile", fmt::format("{},{}", o.tiles.rows, o.tiles.column)},
          {"cluster", fmt::format("{},{}", o.tiles.tall, o.tiles.wide)},
          {"copies", std::to_string(o.tiles.copies)},
          {"weights", o.tiles.keep ? "kept" : "loaded"},
          {"global_bytes", std::to_string(o.fused.bytes.global())},
          {"link_bytes", std::to_string(o.fused.bytes.link)},
          {"cycles", std::to_string(o.fused.cycles)},
          {"apart", std::to_string(o.apart.total.cycles)}};
}

RowsOutcome outcome_of(const Run& run, const Program& program) {
  RowsOutcome outcome;
  outcome.kind = RowsOutcome::Kind::found;
  outcome.members = results_of(program, run.first, run.end);
  for (const RowsForm::Result& result : run.form.results) outcome.results.push_back(result.tensor);
  outcome.result = outcome.results.back();
  outcome.products = run.form.products;
  outcome.reductions = run.form.reductions;
  outcome.apart = run.given;
  if (run.plan) {
    outcome.tiles = run.plan->tiles;
    outcome.graph = rows_graph(run.form, run.plan->tiles);
    outcome.fused = run.plan->measured;
  }
  return outcome;
}

/// Cuts of the graphs of tiles of a program where the program itself has regions.
std::vector<bool> cuts_of(const Program& program, const Program& tiles) {
  std::map<TensorId, size_t> region_of;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (const Statement& s : program.regions[r].statements) region_of[s.result] = r;
  }
  std::vector<bool> cuts(tiles.regions.size() + 1, true);
  for (size_t u = 1; u < tiles.regions.size(); ++u) {
    const auto& before = tiles.regions[u - 1].statements;
    const auto& here = tiles.regions[u].statements;
    if (before.empty() || here.empty()) continue;
    cuts[u] = region_of.at(before.back().result) != region_of.at(here.front().result);
  }
  return cuts;
}

/// The longest of the runs that overlap nothing covered: of those who only ask what there is, or
/// that none of the runs taken has a part of.
std::vector<size_t> longest_of(const std::vector<Run>& runs, std::vector<bool> covered) {
  std::vector<size_t> longest;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (r + 1 < runs.size() && runs[r + 1].first == runs[r].first) continue;
    const auto begin = covered.begin() + static_cast<std::ptrdiff_t>(runs[r].first);
    const auto end = covered.begin() + static_cast<std::ptrdiff_t>(runs[r].end);
    if (std::find(begin, end, true) != end) continue;
    std::fill(begin, end, true);
    longest.push_back(r);
  }
  return longest;
}

}  // namespace

std::vector<RowsOutcome> plan_rows(Program& program, const Machine& machine,
                                   const RowsOptions& options) {
  Program tiles = program;
  make_kernels(tiles, machine, {.reorder_operands = true});
  if (options.against_folded) fold_kernels(tiles, machine);
  Runs finder(tiles, machine, options);
  std::vector<Run> runs = finder.find(cuts_of(program, tiles));
  std::vector<RowsOutcome> outcomes;
  std::vector<bool> covered(tiles.regions.size(), false);
  if (!options.measure) {
    for (const size_t r : longest_of(runs, covered)) outcomes.push_back(outcome_of(runs[r], tiles));
    return outcomes;
  }
  const std::vector<size_t> best = finder.best_of(runs);
  for (const size_t r : best) {
    for (size_t u = runs[r].first; u < runs[r].end; ++u) covered[u] = true;
  }
  for (const size_t r : longest_of(runs, covered)) {
    finder.measure(runs[r]);
    outcomes.push_back(outcome_of(runs[r], tiles));
    outcomes.back().kind = RowsOutcome::Kind::slower;
  }
  for (const size_t r : best) {
    outcomes.push_back(outcome_of(runs[r], tiles));
    RowsOutcome& one = outcomes.back();
    one.put_in(program, notes_of(one, machine), one.graph, true);
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
