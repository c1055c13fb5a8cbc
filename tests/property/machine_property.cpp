// The property test of machines: random programs on random machines. By hand:
//   machine_property --count 10000 --seed 7        more of them
//   machine_property --only PROGRAM MACHINE        one pair, with the program printed

#include <cstdio>

#include "ir/print.h"
#include "machine/load.h"
#include "machine_case.h"
#include "recipe.h"
#include "shell/tool.h"
#include "shrink.h"
#include "support/guarded_main.h"

namespace fuseflow::testing {
namespace {

int run_one(uint64_t program, uint64_t machine) {
  std::printf("%s\n%s\n", print_machine(draw_machine(machine)).c_str(),
              print_program(schedule_recipe(generate_recipe(program), program)).c_str());
  const std::string wrong = check_on_machine(program, machine);
  std::printf("%s\n", wrong.empty() ? "nothing is wrong" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int run_many(uint64_t seed, uint64_t count) {
  uint64_t failed = 0;
  for (uint64_t n = seed; n < seed + count; ++n) {
    const std::string wrong = check_on_machine(n, n);
    if (wrong.empty()) continue;
    ++failed;
    std::printf("--only %llu %llu: %s\n", static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(n), wrong.c_str());
  }
  std::printf("%llu programs on as many machines, %llu failed\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

int property_main(int argc, char** argv) {
  CommandLine app("Random programs on random machines.", "machine_property");
  uint64_t seed = 1;
  uint64_t count = 300;
  std::vector<uint64_t> only;
  app.add_option("--seed", seed, "The first program and machine (default: 1)");
  app.add_option("--count", count, "How many (default: 300)");
  app.add_option("--only", only, "Seeds of a program and of a machine").expected(2);
  if (const auto ended = read_arguments(argc, argv, app)) return *ended;
  return only.empty() ? run_many(seed, count) : run_one(only[0], only[1]);
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::testing::property_main);
}
