// Whatever format an access reads an input in, and a region writes an intermediate in, the program
// computes the same: random programs whose accesses read copies in random formats, and whose
// regions pass on intermediates in random ones, against the reference, on both executors and on a
// random machine with its memory; the estimate counts conversions as they are simulated.
// `storage_property --count N --seed S`.
#include <fmt/format.h>

#include <string>

#include "estimate/estimate.h"
#include "ir/copies.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "lower/region_indices.h"
#include "machine/load.h"
#include "machine_case.h"
#include "passes/regroup.h"
#include "passes/storage_candidates.h"
#include "passes/storage_forms.h"
#include "recipe.h"
#include "seeded_main.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "tensor/random.h"

namespace fuseflow::testing {
namespace {

struct Tally {
  int programs = 0;
  int copies = 0;
  int intermediates = 0;
  int conversions = 0;
  int refused = 0;  ///< no order is legal with the placements of the schedule
  int failures = 0;
};

/// Every second access to an input or constant reads it in a random format; the number of copies.
int store_at_random(Program& program, uint64_t seed) {
  Random random(seed);
  int stored = 0;
  for (const TensorId tensor : stored_tensors_read(program)) {
    const Tensor given = program.tensors[static_cast<size_t>(tensor)];
    constexpr double kSomeEntries = 0.3;
    std::vector<Format> forms = storage_forms(given, kSomeEntries);
    if (!may_have_absent(given)) {
      std::erase_if(forms, [](const Format& form) { return !form.all_dense(); });
    }
    if (forms.empty()) continue;
    for (const StoredUse& use : uses_of(program, tensor)) {
      if (random.below(2) == 0) continue;
      store_as(program, tensor, forms[random.below(forms.size())], {use});
      ++stored;
    }
  }
  return stored;
}

/// With a region for each statement: more is passed on.
Program one_by_one(const Program& program) {
  std::vector<Group> groups;
  int next = 0;
  for (const Region& region : program.regions) {
    for (size_t s = 0; s < region.statements.size(); ++s) groups.push_back({"", {next++}});
  }
  PassLog unused;
  return regroup(program, std::move(groups), unused);
}

/// Every second intermediate that regions pass on gets a random format; how many.
int pass_on_at_random(Program& program, uint64_t seed) {
  Random random(seed, 18);
  int stored = 0;
  for (const TensorId tensor : passed_intermediates(program)) {
    const std::vector<Format> forms = forms_of(program, tensor);
    if (forms.empty() || random.below(2) == 0) continue;
    program.tensors[static_cast<size_t>(tensor)].format = forms[random.below(forms.size())];
    ++stored;
  }
  return stored;
}

/// Conversions are estimated as they are simulated; how many there are.
std::string check_conversions(const Program& given, const Machine& machine, int& conversions) {
  const Program program = lower_program(given);
  verify(program);
  const TensorData data = load_tensors(program);
  const TensorData patterns = load_patterns(program);
  for (const Region& region : program.regions) {
    if (!makes_copy(program, region)) continue;
    ++conversions;
    const RunResult run = run_graph(program, *region.graph, data, machine, {});
    const RegionEstimate e = estimate_region(program, region, patterns, machine);
    const auto cycles = static_cast<double>(run.cycles);
    if (e.cycles == cycles && e.bound == cycles) continue;
    return fmt::format("@{}: {} cycles estimated, at least {}, simulated {}", region.name, e.cycles,
                       e.bound, run.cycles);
  }
  return "";
}

bool has_order(const Program& program) {
  try {
    static_cast<void>(lower_program(program));
    return true;
  } catch (const LoweringConflict&) {
    return false;
  } catch (const UnresolvedConflict&) {
    return false;
  }
}

void try_program(uint64_t seed, const Machine& machine, Tally& tally) {
  Program program = generate_recipe(seed).program;
  if (seed % 2 == 0) program = one_by_one(program);
  ++tally.programs;
  tally.copies += store_at_random(program, seed);
  tally.intermediates += pass_on_at_random(program, seed);
  if (!has_order(program)) {
    ++tally.refused;
    return;
  }
  std::string wrong = check_on_machine(program, seed);
  if (wrong.empty()) wrong = check_conversions(program, machine, tally.conversions);
  if (wrong.empty()) return;
  ++tally.failures;
  fmt::print("seed {}: {}\n{}\n", seed, wrong, print_program(program));
}

int run(uint64_t seed, uint64_t count) {
  const Machine machine = load_machine("rda", {});
  Tally tally;
  for (uint64_t s = seed; s < seed + count && tally.failures < 3; ++s) {
    try {
      try_program(s, machine, tally);
    } catch (const std::exception& error) {
      fmt::print("seed {}: {}\n", s, error.what());
      ++tally.failures;
    }
  }
  fmt::print("{} programs, {} accesses and {} intermediates in other formats, {} conversions; ",
             tally.programs, tally.copies, tally.intermediates, tally.conversions);
  fmt::print("{} refused, {} failures\n", tally.refused, tally.failures);
  const bool idle = tally.copies == 0 || tally.intermediates == 0 || tally.conversions == 0;
  return tally.failures == 0 && !idle ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(
      argc, argv, "Random formats against the reference evaluation.", 150, fuseflow::testing::run);
}
