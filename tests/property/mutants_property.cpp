// Whether `fuseflow-sim --check` can be relied on: random programs with top-k, gates and masks are
// lowered, one node of a graph is made another (graph_mutant.h), and the check must call wrong what
// changes a stored tensor by more than rounding. `mutants_property --count N --seed S`, N programs
// with eight mutants each.
#include <fmt/format.h>

#include <cmath>

#include "filtered_codes.h"
#include "gated_program.h"
#include "graph_mutant.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "recipe.h"
#include "seeded_main.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow::testing {
namespace {

constexpr double kTolerance = 1e-4;  // as fuseflow-sim has it
/// A share of the largest value: what differs by less may be rounding.
constexpr double kChanged = 1e-5;
constexpr uint64_t kMutants = 8;  // a program
/// The share of the mutants that change a result which may pass.
constexpr double kMayPass = 0.005;

enum class Verdict : uint8_t { ok, undecided, wrong };

struct Tally {
  int programs = 0;
  int mutants = 0;
  int refused = 0;
  int unfinished = 0;
  int unchanged = 0;
  int caught = 0;
  int undecided = 0;
  int missed = 0;
  int open = 0;    ///< programs that were not changed and are undecided
  int alarms = 0;  ///< ... and are called wrong
};

std::vector<TensorId> written_by(const ProgramRun& run) {
  std::vector<TensorId> written;
  for (const RunResult& region : run.regions) {
    for (const auto& [tensor, storage] : region.results) written.push_back(tensor);
  }
  return written;
}

Verdict verdict_of(const Program& program, const ProgramRun& run) {
  const CheckSettings settings{.tolerance = kTolerance, .threads = 1};
  Verdict verdict = Verdict::ok;
  for (const auto& one : check_reference(program, run.data, written_by(run), settings).tensors) {
    if (!one.passes) return Verdict::wrong;
    if (!one.decided()) verdict = Verdict::undecided;
  }
  return verdict;
}

ProgramRun simulate(const Program& program) {
  RunOptions options;
  options.max_cycles = 200000;
  options.explain_deadlock = false;
  return run_program(program, load_tensors(program), Machine{}, options);
}

/// Whether a tensor that both have stored differs by more than rounding.
bool differs(const ProgramRun& run, const ProgramRun& other) {
  for (const TensorId tensor : written_by(run)) {
    const auto t = static_cast<size_t>(tensor);
    if (other.data.storage[t] == nullptr) return true;
    const Comparison c = compare(value_of(other.data.storage[t]), value_of(run.data.storage[t]));
    if (!c.passes(kChanged)) return true;
  }
  return false;
}

Program draw_program(uint64_t seed) {
  switch (seed % 8) {
    case 0:
      return generate_recipe(seed).program;
    case 1:
      return filtered_codes(seed, true);
    default:
      return gated_program(seed);
  }
}

void try_mutant(const Program& program, const ProgramRun& run, uint64_t seed, Tally& tally) {
  Program mutant = program;
  const std::string what = make_mutant(mutant, seed);
  if (what.empty()) return;
  ++tally.mutants;
  std::optional<ProgramRun> other;
  try {
    verify(mutant);
    other = simulate(mutant);
  } catch (const Error&) {
    ++tally.refused;
    return;
  } catch (const Defect&) {  // what nodes find wrong with their streams
    ++tally.refused;
    return;
  }
  if (other->finish != Finish::done) {
    ++tally.unfinished;
    return;
  }
  if (!differs(run, *other)) {
    ++tally.unchanged;
    return;
  }
  const Verdict verdict = verdict_of(mutant, *other);
  ++(verdict == Verdict::wrong ? tally.caught
                               : (verdict == Verdict::ok ? tally.missed : tally.undecided));
  if (verdict == Verdict::wrong) return;
  fmt::print("mutant {} {}: {}\n", seed, verdict == Verdict::ok ? "missed" : "undecided", what);
  if (tally.missed + tally.undecided <= 3) fmt::print("{}\n", print_program(mutant));
}

void try_program(uint64_t seed, Tally& tally) {
  Program program;
  try {
    program = lower_program(draw_program(seed));
  } catch (const Error&) {
    return;
  }
  const ProgramRun run = simulate(program);
  if (run.finish != Finish::done) return;
  ++tally.programs;
  const Verdict verdict = verdict_of(program, run);
  tally.open += verdict == Verdict::undecided ? 1 : 0;
  if (verdict == Verdict::wrong) {
    ++tally.alarms;
    fmt::print("seed {}: called wrong, which it is not\n{}\n", seed, print_program(program));
    return;
  }
  for (uint64_t m = 0; m < kMutants; ++m) try_mutant(program, run, seed * kMutants + m, tally);
}

int run(uint64_t seed, uint64_t count) {
  Tally tally;
  for (uint64_t s = seed; s < seed + count; ++s) try_program(s, tally);
  const int changed = tally.caught + tally.undecided + tally.missed;
  fmt::print(
      "{} programs, {} undecided, {} false alarms; {} mutants: {} refused, {} did not finish, {} "
      "change nothing, "
      "{} change a result: {} caught, {} undecided, {} missed\n",
      tally.programs, tally.open, tally.alarms, tally.mutants, tally.refused, tally.unfinished,
      tally.unchanged, changed, tally.caught, tally.undecided, tally.missed);
  const bool enough = changed - tally.caught <= kMayPass * changed;
  return tally.alarms == 0 && enough ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv, "Whether checks notice changed graphs.", 300,
                                        fuseflow::testing::run);
}
