#include "cluster/combine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/common/timings.h"

namespace fuseflow::cluster {
namespace {

enum class Step : uint8_t { fold, rows, second_products };
using Order = std::array<Step, 3>;

CombinedKernels combined_in(const Order& order, Program& program, const Machine& machine,
                            const RowsOptions& options) {
  CombinedKernels combined;
  RowsOptions with = options;
  with.against_folded = false;  // folding is a step of its own
  for (const Step step : order) {
    if (step == Step::fold) combined.folded = fold_kernels(program, machine);
    if (step == Step::rows) combined.rows = plan_rows(program, machine, with);
    if (step == Step::second_products) {
      combined.second_products = plan_second_products(program, machine);
    }
  }
  return combined;
}

bool leaves_tiles_out(const Program& program) {
  return std::any_of(program.regions.begin(), program.regions.end(), [](const Region& region) {
    return region.graph && region.graph->tiles && !region.graph->tiles->open.empty();
  });
}

}  // namespace

int64_t tiles_cycles(const Program& program, const Machine& machine) {
  int64_t cycles = 0;
  for (const Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) continue;
    cycles += timed(*region.graph, machine).cycles + machine.reconfiguration_cycles;
  }
  return cycles;
}

CombinedKernels combine_kernels(Program& program, const Machine& machine,
                                const RowsOptions& options) {
  std::vector<Order> others;
  const bool sparse = leaves_tiles_out(program);
  Program best = program;
  CombinedKernels combined =
      combined_in({Step::fold, Step::rows, Step::second_products}, best, machine, options);
  int64_t least = tiles_cycles(best, machine);
  if (!combined.folded.empty()) others.push_back({Step::rows, Step::fold, Step::second_products});
  if (sparse) others.push_back({Step::second_products, Step::fold, Step::rows});
  if (sparse) others.push_back({Step::second_products, Step::rows, Step::fold});
  for (const Order& order : others) {
    Program other = program;
    CombinedKernels found = combined_in(order, other, machine, options);
    const int64_t cycles = tiles_cycles(other, machine);
    if (cycles >= least) continue;
    least = cycles;
    best = std::move(other);
    combined = std::move(found);
  }
  program = std::move(best);
  return combined;
}

}  // namespace fuseflow::cluster
