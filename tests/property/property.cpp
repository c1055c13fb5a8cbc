// The property test of lowering: random programs, under random regions, placements and orders, on
// the ideal machine and on a tight bounded one, give the reference's results. By hand:
//   lower_property --count 100000 --seed 7        more programs
//   lower_property --seed 7 --only                one program, printed
//   lower_property --mutant N                     shows that a broken rule is noticed
#include <cstdio>
#include <cstring>
#include <string>

#include "check.h"
#include "lower/placements.h"
#include "recipe.h"
#include "shrink.h"

namespace fuseflow::testing {
namespace {

struct Arguments {
  uint64_t seed = 1;
  uint64_t count = 1000;
  bool only = false;
  bool quiet = false;
  Mutant mutant = Mutant::none;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (key == "--seed") result.seed = number();
    if (key == "--count") result.count = number();
    if (key == "--only") result.only = true;
    if (key == "--quiet") result.quiet = true;
    if (key == "--mutant") result.mutant = static_cast<Mutant>(number());
  }
  if (result.only) result.count = 1;
  return result;
}

/// Text, for a failure: what went wrong, the program before lowering.
void print_failure(uint64_t seed, const CheckResult& result, const Program& program) {
  std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), result.failure.c_str(),
              print_program(program).c_str());
}

int run(const Arguments& arguments) {
  uint64_t refused = 0;
  uint64_t failed = 0;
  for (uint64_t n = 0; n < arguments.count; ++n) {
    const uint64_t seed = arguments.seed + n;
    const Recipe recipe = generate_recipe(seed);
    const CheckResult result = check_recipe(recipe, seed, arguments.mutant);
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
    if (arguments.quiet && arguments.mutant != Mutant::none) break;
    if (arguments.quiet && failed > 1) continue;
    const Recipe small = shrink(recipe, seed, arguments.mutant);
    print_failure(seed, check_recipe(small, seed, arguments.mutant), schedule_recipe(small, seed));
    if (failed >= 3 && !arguments.quiet) break;
  }
  std::printf("%llu programs, %llu failed, %llu refused\n",
              static_cast<unsigned long long>(arguments.count),
              static_cast<unsigned long long>(failed), static_cast<unsigned long long>(refused));
  if (arguments.mutant != Mutant::none) return failed > 0 ? 0 : 1;
  return failed == 0 && refused * 10 <= arguments.count ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::run(fuseflow::testing::parse_arguments(argc, argv));
}
