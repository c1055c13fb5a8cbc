// Every form of every join gives what the reference gives, and no form that is chosen is slower by
// estimate: random programs in which stored levels meet (meeting_levels.h), each loop in each of
// its forms, on both executors and on a random machine with its memory. `joins_property --count N
// --seed S`.
#include <fmt/format.h>

#include <map>
#include <string>

#include "estimate/estimate.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine_case.h"
#include "meeting_levels.h"
#include "passes/join_forms.h"
#include "seeded_main.h"
#include "sim/program_run.h"
#include "support/error.h"

namespace fuseflow::testing {
namespace {

struct Tally {
  int programs = 0;
  int failures = 0;
  std::map<JoinForm, int> forms;
};

/// The bound of the estimate is below what the simulator counts, and its counts are exact.
std::string check_estimate(const Program& given) {
  const Program program = lower_program(given);
  TensorData data = load_tensors(program);
  const Region& region = program.regions[0];
  const Machine machine;
  const RunResult run = run_graph(program, *region.graph, data, machine, {});
  const RegionEstimate e = estimate_region(program, region, data, machine);
  const auto cycles = static_cast<double>(run.cycles);
  if (e.bound > cycles) return fmt::format("bound {} above {} cycles", e.bound, run.cycles);
  if (e.certain && e.tokens != static_cast<double>(run.tokens)) {
    return fmt::format("{} tokens estimated instead of {}", e.tokens, run.tokens);
  }
  return "";
}

void check(const Program& program, uint64_t seed, Tally& tally) {
  const std::string wrong = wrong_or_thrown([&] {
    const std::string differs = check_on_machine(program, seed);
    return differs.empty() ? check_estimate(program) : differs;
  });
  if (wrong.empty()) return;
  ++tally.failures;
  fmt::print("seed {}: {}\n{}\n", seed, wrong, print_program(program));
}

void try_program(uint64_t seed, Tally& tally) {
  const Program program = meeting_levels(seed);
  ++tally.programs;
  check(program, seed, tally);
  const std::vector<JoinPlace> places = lower_region_traced(program, 0).join_places;
  for (const std::string& index : joined_indices(places)) {
    for (const Join& form : other_forms(places, {index, JoinForm::merge, {}})) {
      Program joined = program;
      set_join(joined.regions[0].schedule, form);
      ++tally.forms[form.form];
      check(joined, seed, tally);
    }
  }
}

int run(uint64_t seed, uint64_t count) {
  Tally tally;
  for (uint64_t s = seed; s < seed + count && tally.failures < 3; ++s) try_program(s, tally);
  const int located = tally.forms[JoinForm::locate];
  const int words = tally.forms[JoinForm::words];
  const int galloping = tally.forms[JoinForm::gallop];
  fmt::print("{} programs, {} located, {} by words, {} galloping; {} failures\n", tally.programs,
             located, words, galloping, tally.failures);
  const bool idle = located == 0 || words == 0 || galloping == 0;  // nothing was tested
  return tally.failures == 0 && !idle ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv,
                                        "Every form of joins against the reference evaluation.",
                                        150, fuseflow::testing::run);
}
