// The property test of rewriting: what any rewrite makes of a random program has the values of the
// program, and its reference section gives just those.
// Programs are those of the other properties (non-finite values among the data of every other one)
// chains of products, and sums of products that share factors. By hand: rewrite_property --count
// 100000 --seed 7

#include <array>
#include <cmath>
#include <cstdio>

#include "check.h"
#include "damage.h"
#include "ir/data_facts.h"
#include "ir/verify.h"
#include "product_chain.h"
#include "product_sum.h"
#include "recipe.h"
#include "rewrite/rewrite.h"
#include "seeded_main.h"

namespace fuseflow::testing {
namespace {

// Relative to the largest value, beside the reference's own bounds: of reordered sums; and of all
// others, whose products the reference rounds where they become a tensor's entries.
constexpr double kReordered = 1e-5;
constexpr double kRounded = 0x1p-22;
constexpr double kEqual = 0;

struct Seen {
  std::array<uint64_t, 5> kinds{};  ///< rewrites applied, by RewriteKind
  uint64_t refused = 0;
  uint64_t simulated = 0;
};

std::vector<float> spelled(const Value& value) {
  return value.dense ? *value.dense : to_dense(*value.sparse);
}

/// Whether both are the same number, or NaN. (Whether a zero is negative depends on what is
/// absent.)
bool are_equal(const Value& a, const Value& b) {
  const std::vector<float> x = spelled(a), y = spelled(b);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool nan = std::isnan(x[i]) && std::isnan(y[i]);
    if (!nan && x[i] != y[i]) return false;
  }
  return x.size() == y.size();
}

std::vector<Value> values_of(const Program& program, const Inputs& inputs) {
  ReferenceOptions options;
  options.threads = 1;
  options.bounds = true;
  Inputs all = inputs;
  all.resize(program.tensors.size());
  return evaluate(program, all, options);
}

/// Empty, or the first tensor of regions of `program` that differs.
std::string difference(const Program& program, const std::vector<Value>& expected,
                       const std::vector<Value>& actual, double tolerance) {
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      const auto t = static_cast<size_t>(s.result);
      if (t >= expected.size() || (!expected[t].dense && !expected[t].sparse)) continue;
      const bool equal = tolerance == kEqual
                             ? are_equal(actual[t], expected[t])
                             : compare(actual[t], expected[t], tolerance).passes(tolerance);
      if (!equal) {
        return fmt::format("%{} {}", program.tensors[t].name,
                           first_difference(actual[t], expected[t]));
      }
    }
  }
  return "";
}

/// A program with its data and what they give.
struct Case {
  Program program;
  Inputs inputs;
  std::vector<Value> expected;
  std::vector<Facts> read;  ///< of inputs; nothing where values are odd
};

std::string check_rewritten(const Case& given, const Program& after, double tolerance) {
  try {
    verify(after);
  } catch (const Error& error) {
    return fmt::format("is not valid: {}", error.what());
  }
  const std::string text = print_program(after);
  if (print_program(parse_program({"again", text})) != text) return "does not print as it parses";
  Program regions = after;
  regions.reference = {};
  const std::string differs =
      difference(regions, given.expected, values_of(regions, given.inputs), tolerance);
  if (!differs.empty()) return "regions: " + differs;
  const std::string kept =
      difference(given.program, given.expected, values_of(after, given.inputs), kEqual);
  return kept.empty() ? "" : "reference section: " + kept;
}

std::string simulate(const Case& given, const Program& after, Seen& seen) {
  CheckOptions options;
  options.tolerance = kReordered;
  Inputs inputs = given.inputs;
  inputs.resize(after.tensors.size());
  Check check(after, inputs, options);
  check.all();
  ++seen.simulated;
  return check.result.refused ? "" : check.result.failure;
}

double tolerance_of(const Rewrite& rewrite) {
  return rewrite.reorders ? kReordered : kRounded;
}

std::vector<Rewrite> usable(const Case& given, const Program& program, Seen& seen) {
  std::vector<Rewrite> found = find_rewrites(program, proved_tensors(program, given.read));
  seen.refused +=
      std::erase_if(found, [](const Rewrite& rewrite) { return !rewrite.refused.empty(); });
  return found;
}

/// Every rewrite by itself, then a few one after another.
std::string check(const Case& given, uint64_t seed, Seen& seen) {
  std::vector<std::string> notes;
  for (const Rewrite& rewrite : usable(given, given.program, seen)) {
    ++seen.kinds[static_cast<size_t>(rewrite.kind)];
    const Program after = apply_rewrite(given.program, rewrite, notes);
    std::string wrong = check_rewritten(given, after, tolerance_of(rewrite));
    if (wrong.empty() && seed % 16 == 0) wrong = simulate(given, after, seen);
    if (!wrong.empty()) return wrong + "\n" + print_program(after);
  }
  Program program = given.program;
  double tolerance = kRounded;
  for (uint64_t step = 0; step < 3; ++step) {
    const std::vector<Rewrite> found = usable(given, program, seen);
    if (found.empty()) break;
    const Rewrite& rewrite = found[(seed * 7 + step) % found.size()];
    tolerance = std::max(tolerance, tolerance_of(rewrite));
    program = apply_rewrite(program, rewrite, notes);
  }
  remove_unused(program, static_cast<TensorId>(given.program.tensors.size()));
  const std::string wrong = check_rewritten(given, program, tolerance);
  return wrong.empty() ? "" : wrong + "\n" + print_program(program);
}

Case make_case(uint64_t seed) {
  Case made;
  made.program = seed % 4 == 0   ? product_chain(seed)
                 : seed % 4 == 2 ? product_sum(seed)
                                 : generate_recipe(seed).program;
  made.inputs = load_inputs(made.program);
  if (seed % 4 == 1) {
    damage(made.inputs, seed);
    for (Tensor& tensor : made.program.tensors) tensor.facts = tensor.assumed = {};
  } else {
    made.read = read_facts(made.program, [](const Tensor&) { return true; });
  }
  made.expected = values_of(made.program, made.inputs);
  return made;
}

int run(uint64_t seed, uint64_t count) {
  uint64_t failed = 0;
  Seen seen;
  for (uint64_t n = seed; n < seed + count; ++n) {
    const Case given = make_case(n);
    const std::string wrong = wrong_or_thrown([&] { return check(given, n, seen); });
    if (wrong.empty()) continue;
    if (++failed > 3) continue;
    std::printf("seed %llu: %s\ngiven:\n%s\n", static_cast<unsigned long long>(n), wrong.c_str(),
                print_program(given.program).c_str());
  }
  std::printf(
      "%llu programs, %llu failed; %llu reassociated, %llu factored, %llu collected, %llu hoisted, "
      "%llu common; %llu refused; %llu simulated\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed),
      static_cast<unsigned long long>(seen.kinds[0]),
      static_cast<unsigned long long>(seen.kinds[1]),
      static_cast<unsigned long long>(seen.kinds[2]),
      static_cast<unsigned long long>(seen.kinds[3]),
      static_cast<unsigned long long>(seen.kinds[4]), static_cast<unsigned long long>(seen.refused),
      static_cast<unsigned long long>(seen.simulated));
  bool tested = seen.refused > 0 && seen.simulated > 0;  // the test has seen something
  for (const uint64_t kind : seen.kinds) tested = tested && kind * 20 >= count;
  return failed == 0 && (tested || count < 100) ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(
      argc, argv,
      "Random programs: the values of what is rewritten against those of what was given.", 400,
      fuseflow::testing::run);
}
