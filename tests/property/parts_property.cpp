// Copies write their parts of what stays in the scratchpad: random programs whose intermediates are
// kept there, within regions and from one to the next, and whose loops are split in turn or by
// ranges. They give what the reference gives, on both executors and on a random machine with its
// memory, and take no fewer cycles than the estimate's bound. `parts_property --count N --seed S`.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "estimate/estimate.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "machine_case.h"
#include "nodes/rule.h"
#include "passes/regroup.h"
#include "recipe.h"
#include "seeded_main.h"
#include "sim/program_run.h"
#include "support/defect.h"
#include "support/error.h"
#include "tensor/random.h"

namespace fuseflow::testing {
namespace {

struct Tally {
  int programs = 0;
  int in_parts = 0;  ///< tensors in the scratchpad that several writers store
  int by_rows = 0;   ///< those of them whose rows a later phase waits for
  int failures = 0;
};

/// Changes a region, unless it cannot be lowered then.
template <typename Change>
void try_to(Program& program, size_t first, size_t last, Change&& change) {
  const Program before = program;
  change();
  try {
    for (size_t r = first; r <= last; ++r) lower_region(program, r);
  } catch (const Error&) {
    program = before;
  }
}

void keep_on_chip(Program& program) {
  for (const Resident& passed : passed_on(program)) {
    try_to(program, passed.written, passed.last, [&] { make_resident(program, passed); });
  }
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (size_t s = 0; s + 1 < program.regions[r].statements.size(); ++s) {
      const TensorId tensor = program.regions[r].statements[s].result;
      if (!is_internal(program, r, tensor)) continue;
      try_to(program, r, r, [&] {
        auto& placements = program.regions[r].schedule.placements;
        std::erase_if(placements, [&](const UsePlacement& use) { return use.tensor == tensor; });
        placements.push_back({tensor, -1, Placement::scratchpad});
      });
    }
  }
}

/// Up to two loops of each region.
void split_at_random(Program& program, uint64_t seed) {
  Random random(seed, 85);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const RegionIndices indices = region_indices(program, r);
    for (int turn = 0; turn < 2 && !indices.indices.empty(); ++turn) {
      const std::string& name = indices.indices[random.below(indices.indices.size())].name;
      const Parallel entry{name, 2 + static_cast<int64_t>(random.below(4)), random.uniform() < 0.5};
      const auto& given = program.regions[r].schedule.parallel;
      if (!given.empty() && given.front().index == name) continue;
      try_to(program, r, r, [&] { program.regions[r].schedule.parallel.push_back(entry); });
    }
  }
}

void count_parts(const Program& lowered, Tally& tally) {
  for (const Region& region : lowered.regions) {
    const Graph& graph = *region.graph;
    const std::vector<int> writers = parts_written(graph, lowered.tensors.size());
    const std::vector<int> phase = phases_written(graph, lowered.tensors.size());
    for (const TensorId tensor : graph.scratchpad) {
      const auto t = static_cast<size_t>(tensor);
      if (writers[t] < 2) continue;
      ++tally.in_parts;
      tally.by_rows += graph.last_started_with(phase[t]) > phase[t] ? 1 : 0;
    }
  }
}

/// No region is faster than its bound.
std::string check_bounds(const Program& lowered, const Machine& machine) {
  const ProgramRun run = run_program(lowered, load_tensors(lowered), machine, {});
  for (size_t r = 0; r < lowered.regions.size(); ++r) {
    const RegionEstimate e = estimate_region(lowered, lowered.regions[r], run.data, machine);
    const auto cycles = static_cast<double>(run.regions[r].cycles);
    if (e.bound <= cycles) continue;
    return fmt::format("@{}: at least {} cycles expected, simulated {}", lowered.regions[r].name,
                       e.bound, cycles);
  }
  return "";
}

void try_program(uint64_t seed, const Machine& machine, Tally& tally) {
  Program program = generate_recipe(seed).program;
  ++tally.programs;
  std::string wrong;
  try {
    keep_on_chip(program);
    split_at_random(program, seed);
    const Program lowered = lower_program(program);
    count_parts(lowered, tally);
    wrong = check_on_machine(program, seed);
    if (wrong.empty()) wrong = check_bounds(lowered, machine);
  } catch (const Error& error) {  // rejected: what the recipe gives needs more placements
    if (error.code() != ExitCode::rejected) wrong = error.what();
  } catch (const Defect& defect) {
    wrong = defect.what();
  }
  if (wrong.empty()) return;
  ++tally.failures;
  fmt::print("seed {}: {}\n{}\n", seed, wrong, print_program(program));
}

int run(uint64_t seed, uint64_t count) {
  const Machine machine = load_machine("ideal", {});
  Tally tally;
  for (uint64_t s = seed; s < seed + count && tally.failures < 3; ++s) {
    try_program(s, machine, tally);
  }
  fmt::print("{} programs, {} tensors in parts, {} of them read by rows, {} failures\n",
             tally.programs, tally.in_parts, tally.by_rows, tally.failures);
  return tally.failures == 0 && tally.by_rows > 0 && tally.in_parts > tally.by_rows ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv, "Parts in the scratchpad.", 600,
                                        fuseflow::testing::run);
}
