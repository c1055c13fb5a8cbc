// What chooses never loses: over random programs, the result of each pass with an `auto` is not
// expected to take more cycles than the program that it was given, counted from the data by
// estimate_from_data (not by the cost model that chose). `choice_property --count N --seed S`.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "estimate/pass_costs.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "passes/pass.h"
#include "recipe.h"
#include "seeded_main.h"
#include "sim/program_run.h"

namespace fuseflow::testing {
namespace {

struct Tally {
  int choices = 0;
  int changed = 0;
  int unknown = 0;  ///< cannot be estimated
  int failures = 0;
};

struct Trial {
  std::string_view pass;
  std::string_view option;
  std::string_view value;
};
constexpr Trial kTrials[] = {{"fuse", "strategy", "auto"},
                             {"place", "auto", "true"},
                             {"order", "auto", "true"},
                             {"store", "auto", "true"},
                             {"join", "auto", "true"}};

std::optional<double> cycles(const Program& program, const Machine& machine) {
  try {
    const Program lowered = lower_program(program);
    for (const Region& region : lowered.regions) check_fits(lowered, region, machine);
    return estimate_from_data(lowered, load_patterns(lowered), machine).total.cycles;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Program run_pass(const Trial& trial, const Program& program, const std::string& machine) {
  PassArguments arguments;
  arguments.costs = estimated_costs();
  arguments.add(trial.option, std::string(trial.value));
  arguments.add("machine", machine);
  PassLog log;
  Program result = find_pass(trial.pass).run(program, arguments, log);
  verify(result);
  return result;
}

/// Each pass is given what the one before it made, so that schedules are kept or improved, too.
void try_program(uint64_t seed, const std::string& machine, Tally& tally) {
  Program program = generate_recipe(seed).program;
  const Machine described = load_machine(machine, {});
  std::optional<double> before = cycles(program, described);
  if (!before) {
    ++tally.unknown;
    return;
  }
  for (const Trial& trial : kTrials) {
    const std::string text = print_program(program);
    program = run_pass(trial, program, machine);
    const std::optional<double> after = cycles(program, described);
    ++tally.choices;
    tally.changed += text == print_program(program) ? 0 : 1;
    if (after && *after <= *before) {
      before = after;
      continue;
    }
    ++tally.failures;
    fmt::print("seed {}, {} on {}: {:.0f} cycles by estimate became {}\n{}\n", seed, trial.pass,
               machine, *before, after ? fmt::format("{:.0f}", *after) : "unknown", text);
    return;
  }
}

int run(uint64_t seed, uint64_t count) {
  Tally tally;
  for (uint64_t s = seed; s < seed + count; ++s) {
    try {
      try_program(s, s % 2 == 0 ? "ideal" : "rda", tally);
    } catch (const std::exception& error) {
      fmt::print("seed {}: {}\n", s, error.what());
      ++tally.failures;
    }
  }
  fmt::print("{} choices, {} changed the program; {} programs not estimated; {} failures\n",
             tally.choices, tally.changed, tally.unknown, tally.failures);
  const bool idle = tally.changed == 0;  // a test of choices that never chooses tests nothing
  return tally.failures == 0 && !idle ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv, "Choices on random programs never lose.", 150,
                                        fuseflow::testing::run);
}
