// Passes compose: random programs through random pipelines of up to eight filters (pipeline.h),
// each pipeline twice, printed and read again between any two. Each filter takes what the one
// before it wrote, or refuses it for a reason that the specification gives; the same input gives
// the same bytes; what names its change does nothing when it is done again; and what comes out at
// the end, simulated, has the values of the program at the start. `pipelines_property --count N
// --seed S`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "pipeline.h"
#include "recipe.h"
#include "reference/reference.h"
#include "seeded_main.h"
#include "shrink.h"
#include "sim/program_run.h"
#include "support/defect.h"

namespace fuseflow::testing {
namespace {

constexpr size_t kMostSteps = 8;
// Relative to the largest value, beside the reference's own bounds, where sums were rewritten
// (rewrite_property.cpp): added in another order, or rounded elsewhere.
constexpr double kReordered = 1e-5;
constexpr double kRounded = 0x1p-22;

struct Tally {
  int pipelines = 0;
  int steps = 0;
  int changed = 0;   ///< steps that wrote another text than they read
  int refused = 0;   ///< steps, for a documented reason
  int unusable = 0;  ///< programs that no tool takes
  int failures = 0;
  std::map<std::string, int> by_tool;
};

/// A failure: what to print of it.
struct Broken {
  std::string why;
};

class Pipeline {
 public:
  Pipeline(uint64_t seed, Program start, Tally& tally)
      : random_(seed, 91),
        machine_(seed % 3 == 0   ? "ideal"
                 : seed % 3 == 1 ? "rda"
                                 : "comal"),
        start_(std::move(start)),
        text_(print_program(start_)),
        tally_(tally) {}

  /// Throws Broken.
  void run() {
    const size_t count = 1 + random_.below(kMostSteps);
    for (size_t n = 0; n < 2 * count; ++n) step();
    check_values();
  }

  const std::string& commands() const { return commands_; }
  /// What the last command read.
  const std::string& text() const { return text_; }

 private:
  void step() {
    const Program program = parse_program(SourceText{"<stdin>", text_});
    if (print_program(program) != text_) throw Broken{"is printed otherwise when it is read again"};
    const Step step = draw_step(program, machine_, random_);
    ++tally_.steps;
    ++tally_.by_tool[step.tool];
    std::optional<std::string> result = written(step, text_);
    commands_ +=
        (commands_.empty() ? "" : " |\n  ") + command_of(step) + (result ? "" : " # refused");
    if (!result) {
      ++tally_.refused;
      return;
    }
    if (random_.below(4) == 0 && written(step, text_) != result) {
      throw Broken{"the same input gives other bytes: " + command_of(step)};
    }
    check_again(step, *result);
    tally_.changed += *result != text_ ? 1 : 0;
    rewrites_ = rewrites_ || step.rewrites;
    reorders_sums_ = reorders_sums_ || step.reorders_sums;
    text_ = std::move(*result);
  }

  /// What a step writes; nothing where it refuses with a documented reason.
  std::optional<std::string> written(const Step& step, const std::string& text) {
    try {
      return run_step(step, text, assumed_);
    } catch (const Error& error) {
      const bool allowed = error.code() == ExitCode::rejected && is_documented(step, error.what());
      if (allowed) return std::nullopt;
      throw Broken{fmt::format("status {}: {}\n{}", static_cast<int>(error.code()),
                               command_of(step), error.what())};
    }
  }

  /// With what every tool finds in the data that it reads, whatever it is asked for.
  static std::string with_facts(const std::string& text) {
    Program program = parse_program(SourceText{"<stdin>", text});
    static_cast<void>(find_data_facts(program));
    return print_program(program);
  }

  /// Each filter takes its own output.
  void check_again(const Step& step, const std::string& result) {
    if (!step.is_settled && random_.below(3) > 0) return;
    const std::optional<std::string> again = written(step, result);
    if (!again) throw Broken{"refuses its own output: " + command_of(step)};
    if (step.is_settled && with_facts(*again) != with_facts(result)) {
      throw Broken{fmt::format("done again, it changes something: {}\n--- once\n{}\n--- twice\n{}",
                               command_of(step), result, *again)};
    }
  }

  void check_values() {
    const std::vector<Value> expected = evaluate_start();
    Program program = parse_program(SourceText{"<stdin>", text_});
    static_cast<void>(find_data_facts(program));
    program = lower_program(std::move(program));
    verify(program);
    RunOptions options;
    options.full_streams = true;
    options.threads = 1;
    const ProgramRun run = run_program(program, load_tensors(program), Machine{}, options);
    for (size_t t = 0; t < start_.tensors.size(); ++t) {
      if (start_.tensors[t].role == Role::result) check_result(program, run, t, expected[t]);
    }
  }

  std::vector<Value> evaluate_start() const {
    ReferenceOptions options;
    options.threads = 1;
    options.bounds = rewrites_;
    return evaluate(start_, load_tensors(start_).storage, options);
  }

  void check_result(const Program& program, const ProgramRun& run, size_t tensor,
                    const Value& expected) const {
    const std::string& name = start_.tensors[tensor].name;
    const TensorId found = find_tensor(program, name);
    const auto& storage = found < 0 ? nullptr : run.data.storage[static_cast<size_t>(found)];
    if (storage == nullptr) throw Broken{fmt::format("%{} was not computed", name)};
    const double tolerance = reorders_sums_ ? kReordered : rewrites_ ? kRounded : 0;
    const Comparison c = compare(value_of(storage), expected, tolerance);
    // A rewrite that assumes finite sums says so; where they are not, it may give others.
    const bool finite = c.same_nans && c.same_infinities;
    if (c.passes(tolerance) || (assumed_ && !finite)) return;
    throw Broken{fmt::format("%{}: {} instead of {}", name, c.worst_actual, c.worst_expected)};
  }

  Random random_;
  const std::string machine_;
  const Program start_;
  std::string text_;
  std::string commands_;
  bool rewrites_ = false;
  bool reorders_sums_ = false;
  bool assumed_ = false;
  Tally& tally_;
};

/// A program that the tools take; nothing where the schedule asks for what cannot be.
std::optional<Program> start_of(uint64_t seed) {
  Program program = schedule_recipe(generate_recipe(seed), seed);
  try {
    static_cast<void>(lower_program(program));
    return program;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void try_seed(uint64_t seed, Tally& tally) {
  std::optional<Program> start = start_of(seed);
  if (!start) {
    ++tally.unusable;
    return;
  }
  ++tally.pipelines;
  const std::string given = print_program(*start);
  Pipeline pipeline(seed, std::move(*start), tally);
  std::string wrong;
  try {
    pipeline.run();
    return;
  } catch (const Broken& broken) {
    wrong = broken.why;
  } catch (const Error& error) {
    wrong = fmt::format("status {}: {}", static_cast<int>(error.code()), error.what());
  } catch (const Defect& defect) {
    wrong = fmt::format("a defect: {}", defect.what());
  }
  ++tally.failures;
  fmt::print("seed {}: {}\nstart:\n{}\npipeline:\n  {}\nread last:\n{}\n", seed, wrong, given,
             pipeline.commands(), pipeline.text());
}

int run(uint64_t seed, uint64_t count) {
  Tally tally;
  for (uint64_t s = seed; s < seed + count && tally.failures < 5; ++s) try_seed(s, tally);
  fmt::print(
      "{} pipelines, each twice; {} steps, of which {} changed the program and {} were "
      "refused; {} programs not usable; {} failures\n",
      tally.pipelines, tally.steps, tally.changed, tally.refused, tally.unusable, tally.failures);
  for (const auto& [tool, steps] : tally.by_tool) fmt::print("  {}: {}\n", tool, steps);
  const bool idle = 2 * tally.changed < tally.steps / 2 || 4 * tally.refused > tally.steps;
  return tally.failures == 0 && !idle ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv, "Random pipelines of passes.", 60,
                                        fuseflow::testing::run);
}
