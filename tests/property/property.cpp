// The property test of lowering: random programs, under random regions, placements and orders, on
// the ideal machine and on a tight bounded one, give the reference's results. By hand:
//   lower_property --count 100000 --seed 7        more programs
//   lower_property --seed 7 --only                one program, printed
//   lower_property --types                        tensors of random element types
//   broken_rules_property --broken N              shows that a broken rule is noticed

#include <cstdio>
#include <string>

#include "check.h"
#include "lower/placements.h"
#include "recipe.h"
#include "shell/tool.h"
#include "shrink.h"
#include "support/guarded_main.h"
#include "types.h"

namespace fuseflow::testing {
namespace {

struct Arguments {
  uint64_t seed = 1;
  uint64_t count = 1000;
  bool only = false;
  bool quiet = false;
  bool types = false;
};

void add_options(CommandLine& app, Arguments& a) {
  app.add_option("--seed", a.seed, "The first program (default: 1)");
  app.add_option("--count", a.count, "How many programs (default: 1000)");
  app.add_flag("--only", a.only, "One program, printed before and after lowering");
  app.add_flag("--quiet", a.quiet, "Do not list refusals; shrink the first failure only");
  app.add_flag("--types", a.types, "Tensors of random element types");
  app.add_option("--broken", broken_rule,
                 "Break a rule (1 .. 9, ir-spec/lowering.md): succeeds if that is noticed")
      .between(1, 9);
}

/// Text, for a failure: what went wrong, the program before lowering.
void print_failure(uint64_t seed, const CheckResult& result, const Program& program) {
  std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), result.failure.c_str(),
              print_program(program).c_str());
}

int run(Arguments arguments) {
  if (arguments.only) arguments.count = 1;
  uint64_t refused = 0;
  uint64_t failed = 0;
  for (uint64_t n = 0; n < arguments.count; ++n) {
    const uint64_t seed = arguments.seed + n;
    Recipe recipe = generate_recipe(seed);
    if (arguments.types) draw_types(recipe.program, seed);
    const CheckResult result = check_recipe(recipe, seed);
    if (arguments.only) {
      Program scheduled = schedule_recipe(recipe, seed);
      std::printf("%s\n", print_program(scheduled).c_str());
      try {
        std::printf("%s\n", print_program(lower_program(scheduled)).c_str());
      } catch (const Error& error) {
        std::printf("%s\n", error.what());
      }
    }
    if (result.failure.empty()) continue;
    if (result.refused) {
      ++refused;
      if (arguments.only || !arguments.quiet) {
        std::printf("seed %llu refused: %s\n", static_cast<unsigned long long>(seed),
                    result.failure.c_str());
      }
      continue;
    }
    ++failed;
    if (arguments.quiet && broken_rule != 0) break;
    if (arguments.quiet && failed > 1) continue;
    const Recipe small = shrink(recipe, seed);
    print_failure(seed, check_recipe(small, seed), schedule_recipe(small, seed));
    if (failed >= 3 && !arguments.quiet) break;
  }
  std::printf("%llu programs, %llu failed, %llu refused\n",
              static_cast<unsigned long long>(arguments.count),
              static_cast<unsigned long long>(failed), static_cast<unsigned long long>(refused));
  if (broken_rule != 0) return failed > 0 ? 0 : 1;
  return failed == 0 && refused * 10 <= arguments.count ? 0 : 1;
}

int property_main(int argc, char** argv) {
  CommandLine app("Random programs, lowered and simulated, against the reference evaluation.",
                  "lower_property");
  Arguments arguments;
  add_options(app, arguments);
  if (const auto ended = read_arguments(argc, argv, app)) return *ended;
  return run(arguments);
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::testing::property_main);
}
