#include "cluster/kernels/second_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "cluster/kernels/gathered.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/second_product_form.h"
#include "cluster/kernels/tiles.h"
#include "graph/tile_kernel.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostRegions = 5;  ///< that one kernel may take the place of

/// Regions [first, end) as one kernel.
struct Pair {
  size_t first = 0, end = 0;
  TensorId operand = -1;  ///< that leaves tiles out
  FastestKernel fastest;
  SeparateKernels apart;
  int64_t saved() const { return apart.total.cycles - fastest.measured.cycles; }
};

/// Is the region a single product that leaves tiles out?
bool begins_pair(const Region& region) {
  return region.graph && is_tile_kernel(*region.graph) &&
         load_of_absent_tiles(*region.graph) >= 0 && !has_second_product(*region.graph) &&
         !region.statements.empty();
}

class Finder {
 public:
  Finder(const Program& program, const Machine& machine)
      : program_(program), machine_(machine), statements_(program), presence_(program) {}

  /// The pair that saves most of those whose first product is that of a region; else, where there
  /// is one, in `refused` the result and why it is none.
  std::optional<Pair> best_from(size_t first, KernelOutcome& refused) {
    std::optional<Pair> best;
    const std::optional<KernelForm> product = sparse_product(first);
    if (!product) return best;
    const size_t end = std::min(program_.regions.size(), first + kMostRegions);
    for (size_t last = first + 1; last < end && program_.regions[last].graph; ++last) {
      if (program_.regions[last].graph->tiles == std::nullopt) break;
      std::string why;
      std::optional<Pair> pair = planned(first, last + 1, *product, why);
      if (refused.why.empty() && !why.empty()) {
        refused.result = program_.regions[last].statements.back().result;
        refused.why = std::move(why);
      }
      if (pair && (!best || pair->saved() > best->saved())) best = std::move(pair);
    }
    return best;
  }

 private:
  /// `product`: the form of the first one, which leaves tiles out.
  std::optional<Pair> planned(size_t first, size_t end, const KernelForm& product,
                              std::string& why) {
    if (program_.regions[end - 1].statements.empty()) return std::nullopt;
    const Statement& root = program_.regions[end - 1].statements.back();
    const std::vector<TensorId> results = results_of(program_, first, end);
    const std::set<TensorId> members(results.begin(), results.end());
    for (const TensorId t : members) {
      const bool stays = statements_.of(t) != nullptr && statements_.read_only_by(t, members);
      if (t != root.result && !stays) return std::nullopt;
    }
    std::optional<KernelForm> form = second_product_form(statements_, root, members, why);
    if (!form || !same_first_operand(*form, product)) return std::nullopt;
    form->present = product.present;
    form->sparse = product.sparse;
    form->gathered = product.gathered;
    std::optional<FastestKernel> fastest = fastest_two_products(*form, machine_);
    if (!fastest) why = "no tiles of it fit the machine";
    if (!fastest || fastest->graph.tiles->open.empty()) return std::nullopt;
    KernelSequence sequence(machine_);
    for (size_t r = first; r < end; ++r) sequence.run(*program_.regions[r].graph);
    return Pair{first, end, form->sparse, std::move(*fastest), sequence.apart()};
  }

  /// The form of a region's product that leaves tiles out, of its own first operand, whose rows are
  /// one loop.
  std::optional<KernelForm> sparse_product(size_t region) {
    std::string why;
    const Statement& product = program_.regions[region].statements.back();
    const std::optional<KernelForm> alone = kernel_form(program_, product, {}, why);
    std::optional<KernelForm> sparse = alone ? presence_.sparse_form(*alone) : std::nullopt;
    if (!sparse || !is_one_loop(*sparse, kKernelM)) return std::nullopt;
    sparse->gathered = gathered_format(program_, *sparse, {});
    return sparse;
  }

  /// Whether both have one first operand: one tensor, read by the same dimensions (in A A W both
  /// operands are one tensor).
  static bool same_first_operand(const KernelForm& a, const KernelForm& b) {
    return operand_of(a, 0).tensor == operand_of(b, 0).tensor &&
           dimensions_of(a, operand_of(a, 0)) == dimensions_of(b, operand_of(b, 0));
  }

  static std::vector<std::set<KernelDim>> dimensions_of(const KernelForm& form,
                                                        const KernelTerm& load) {
    std::vector<std::set<KernelDim>> dimensions;
    for (const TileSubscript& subscript : load.subscripts) {
      std::set<KernelDim>& of = dimensions.emplace_back();
      for (const auto& [digit, factor] : subscript.terms) {
        of.insert(form.digits[static_cast<size_t>(digit)].dim);
      }
    }
    return dimensions;
  }

  static bool is_one_loop(const KernelForm& form, KernelDim dim) {
    return std::count_if(form.digits.begin(), form.digits.end(),
                         [&](const KernelDigit& digit) { return digit.dim == dim; }) == 1;
  }

  const Program& program_;
  const Machine& machine_;
  const StatementTable statements_;
  PresenceFinder presence_;
};

PlanNotes notes_of(const Pair& pair, const Program& program, const Machine& machine) {
  const Graph& graph = pair.fastest.graph;
  const KernelSizes step = kernel_step(graph);
  const TilesPresent present = tiles_present(graph);
  return {{"kind", gathered_step(graph) > 0 ? "gathered product and one after it"
                                            : "sparse product and one after it"},
          {"machine", machine.name},
          {"operand", program.tensors[static_cast<size_t>(pair.operand)].name},
          {"tile", fmt::format("{},{},{},{}", step[kKernelM], step[kKernelN], step[kKernelK],
                               graph.indices[kKernelL].block)},
          {"cluster",
           fmt::format("{},{}", graph.indices[kKernelM].tiling.cluster, column_cores(graph))},
          {"present", fmt::format("{} of {}", present.present, present.all)},
          {"global_bytes", std::to_string(pair.fastest.measured.bytes.global())},
          {"cycles", std::to_string(pair.fastest.measured.cycles)},
          {"apart", std::to_string(pair.apart.total.cycles)}};
}

}  // namespace

std::vector<KernelOutcome> plan_second_products(Program& program, const Machine& machine) {
  std::vector<KernelOutcome> outcomes;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (!begins_pair(program.regions[r])) continue;
    KernelOutcome outcome;
    std::optional<Pair> pair = Finder(program, machine).best_from(r, outcome);
    if (!pair) {
      if (!outcome.why.empty()) outcomes.push_back(std::move(outcome));
      continue;
    }
    std::vector<TensorId> results = results_of(program, pair->first, pair->end);
    const TensorId last = results.back();
    outcome = {KernelOutcome::Kind::slower, last,       std::move(results), {},
               pair->fastest.measured,      pair->apart};
    if (pair->saved() > 0) {
      const auto notes = notes_of(*pair, program, machine);
      outcome.put_in(program, notes, std::move(pair->fastest.graph), true);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace fuseflow::cluster
