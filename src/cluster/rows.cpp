#include "cluster/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cluster/kernels.h"
#include "cluster/product_kernel.h"
#include "cluster/recognize.h"
#include "graph/tile_kernel.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostUnits = 64;   ///< regions of one kernel
constexpr size_t kMostResults = 8;  ///< stored by one kernel

bool reduces(const Region& region) {
  return std::any_of(region.statements.begin(), region.statements.end(), [](const Statement& s) {
    return std::any_of(s.nodes.begin(), s.nodes.end(),
                       [](const Expr& node) { return node.kind == Expr::Kind::reduce; });
  });
}

/// Regions [first, end) of a program as one kernel.
struct Run {
  size_t first = 0, end = 0;
  RowsForm form;
  KernelsApart given;
  std::optional<RowsPlan> plan;
  std::optional<KernelsApart> folded;  ///< asked of those that are chosen
  int64_t saves() const { return plan ? given.total.cycles - plan->measured.cycles : 0; }
};

/// Finds and measures the runs of a program of graphs of tiles.
class Runs {
 public:
  Runs(const Program& program, const Machine& machine, const RowsOptions& options)
      : program_(program), machine_(machine), options_(options) {}

  /// Where a run may begin or end, beside the ends of what has a form: `cuts[u]` is before unit u.
  std::vector<Run> find(const std::vector<bool>& cuts) {
    std::vector<Run> runs;
    const size_t units = program_.regions.size();
    for (size_t first = 0; first < units; ++first) {
      if (!cuts[first] || !(reduces(program_.regions[first]) || begins(first))) continue;
      std::optional<Run> longest;
      for (size_t end = first + 1; end <= std::min(units, first + kMostUnits); ++end) {
        std::optional<RowsForm> form = form_of(first, end);
        if (!form) break;
        const bool last = end == units || cuts[end];
        if (!last) continue;
        Run run{first, end, std::move(*form), {}, std::nullopt, std::nullopt};
        const bool before_next = end < units && reduces(program_.regions[end]);
        if (before_next && worth(run)) runs.push_back(run);
        longest = before_next ? std::nullopt : std::optional<Run>(std::move(run));
      }
      if (longest && worth(*longest)) runs.push_back(std::move(*longest));
    }
    return runs;
  }

  void measure(Run& run) {
    KernelSequence sequence(machine_);
    for (size_t u = run.first; u < run.end; ++u) sequence.run(*program_.regions[u].graph);
    run.given = sequence.apart();
    run.plan = fastest_rows(run.form, machine_, run.given.total.cycles);
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
    return rows_form(program_, statements, why);
  }

  /// No run that begins before it has it.
  bool begins(size_t unit) const { return unit == 0 || !form_of(unit - 1, unit + 1); }

  bool worth(const Run& run) const {
    return run.end - run.first > 1 &&
           run.form.products + run.form.reductions >= options_.least_work &&
           run.form.products <= options_.most_products && run.form.results.size() <= kMostResults;
  }

  const Program& program_;
  const Machine& machine_;
  const RowsOptions& options_;
};

/// Runs that do not overlap and save the most cycles together, in order.
std::vector<size_t> best_of(const std::vector<Run>& runs, size_t units) {
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

/// Cycles of the product of a kernel by itself over clusters and splits of K, which kernels do not
/// have; 0 where it is none.
int64_t tuned_product(const Graph& graph, const Machine& machine) {
  constexpr int64_t kEffort = int64_t{1} << 20;
  const bool products = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::tile_multiply;
  });
  if (!products || !is_tile_kernel(graph) || kernel_roles(graph).held()) return 0;
  if (!graph.tiles->open.empty() || graph.indices[kKernelG].size > 1) return 0;
  const KernelSizes elements = kernel_elements(graph);
  const Chain chain = padded(
      gemm_chain(elements[kKernelM], elements[kKernelN], elements[kKernelK], 16, Activation::none));
  ProductSize size;
  size.m = chain.size[Dim::m], size.n = chain.size[Dim::n], size.k = chain.size[Dim::k];
  const KernelRoles roles = kernel_roles(graph);
  const auto bytes_of = [&](const Input& input) {
    const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
    return moved_bytes(graph, graph.nodes[static_cast<size_t>(from)]);
  };
  const Node& product = graph.nodes[static_cast<size_t>(roles.reductions[0])];
  size.bytes.x = bytes_of(product.inputs[0]);
  size.bytes.w = bytes_of(product.inputs[1]);
  size.bytes.y = moved_bytes(graph, graph.nodes[static_cast<size_t>(roles.store)]);
  size.follows = true;
  Effort effort;
  effort.operations = kEffort;
  return best_product(size, machine, effort).cycles;
}

/// The statements of a run as kernels with what follows their products in them, and reductions of
/// rows together where that is faster; products as fast as any kernel of theirs. Where one of them
/// has no form, as the program has them.
KernelsApart folded_apart(const Program& program, const Run& run, const Machine& machine) {
  const RowsForm& form = run.form;
  Program part = program;
  Region all;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      if (form.members.count(s.result) != 0) all.statements.push_back(s);
    }
  }
  all.name = "folded";
  part.regions = {std::move(all)};
  // What others read is stored.
  for (const RowsForm::Result& result : form.results) {
    part.tensors[static_cast<size_t>(result.tensor)].role = Role::result;
  }
  if (!make_kernels(part, machine, {.fold_products = true, .whole = &program}).empty()) {
    return run.given;
  }
  plan_rows(part, machine, {.most_products = 0, .compare_folded = false});
  KernelSequence sequence(machine);
  for (const Region& region : part.regions) {
    sequence.run(*region.graph, tuned_product(*region.graph, machine));
  }
  return sequence.apart();
}

std::vector<std::pair<std::string, std::string>> notes_of(const RowsOutcome& o,
                                                          const Machine& machine) {
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
          {"apart", std::to_string(o.given.total.cycles)},
          {"folded", std::to_string(o.folded.total.cycles)}};
}

RowsOutcome outcome_of(const Run& run, const Program& program) {
  RowsOutcome outcome;
  for (size_t u = run.first; u < run.end; ++u) {
    for (const Statement& s : program.regions[u].statements) outcome.members.push_back(s.result);
  }
  for (const RowsForm::Result& result : run.form.results) outcome.results.push_back(result.tensor);
  outcome.products = run.form.products;
  outcome.reductions = run.form.reductions;
  outcome.given = run.given;
  outcome.folded = run.folded.value_or(run.given);
  if (run.plan) {
    outcome.tiles = run.plan->tiles;
    outcome.graph = run.plan->graph;
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

void put_in(Program& program, const Machine& machine, RowsOutcome& outcome) {
  if (attach_plan(program, outcome.members, notes_of(outcome, machine), outcome.graph, true)) {
    outcome.kind = RowsOutcome::Kind::taken;
    return;
  }
  outcome.kind = RowsOutcome::Kind::refused;
  outcome.why = "its statements share regions with others or are scheduled";
}

/// The longest of the runs, for those who only ask what there is.
std::vector<RowsOutcome> only_found(const std::vector<Run>& runs, const Program& tiles) {
  std::vector<RowsOutcome> outcomes;
  size_t covered = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (r + 1 < runs.size() && runs[r + 1].first == runs[r].first) continue;
    if (runs[r].end <= covered) continue;
    covered = runs[r].end;
    outcomes.push_back(outcome_of(runs[r], tiles));
  }
  return outcomes;
}

}  // namespace

std::vector<RowsOutcome> plan_rows(Program& program, const Machine& machine,
                                   const RowsOptions& options) {
  Program tiles = program;
  make_kernels(tiles, machine, {.reorder_operands = true});
  Runs finder(tiles, machine, options);
  std::vector<Run> runs = finder.find(cuts_of(program, tiles));
  if (!options.measure) return only_found(runs, tiles);
  for (Run& run : runs) finder.measure(run);
  std::vector<RowsOutcome> outcomes;
  std::vector<size_t> best = best_of(runs, tiles.regions.size());
  for (size_t i = 0; i < best.size();) {
    Run& run = runs[best[i]];
    if (options.compare_folded && !run.folded) run.folded = folded_apart(tiles, run, machine);
    if (!run.folded || run.plan->measured.cycles <= run.folded->total.cycles) {
      ++i;
      continue;
    }
    outcomes.push_back(outcome_of(run, tiles));
    outcomes.back().kind = RowsOutcome::Kind::slower;
    run.plan.reset();  // the others are chosen without it
    best = best_of(runs, tiles.regions.size());
    i = 0;
  }
  for (const size_t r : best) {
    outcomes.push_back(outcome_of(runs[r], tiles));
    put_in(program, machine, outcomes.back());
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
