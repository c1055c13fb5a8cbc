// Lowers the program of a file (inputs with inline values), prints it, and checks it against the
// reference: for looking into a case that the property test found.
#include <cstdio>

#include "check.h"
#include "lower/placements.h"
#include "support/guarded_main.h"

namespace fuseflow::testing {
namespace {

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  const Program program = parse_program(read_source(argv[1]));
  CheckOptions options;
  options.tolerance = 1e-4;
  if (argc > 2) options.machine.fifo_depth = std::atoi(argv[2]);
  try {
    std::printf("%s\n", print_program(lower_program(program)).c_str());
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  const auto result = check_program(program, load_inputs(program), options);
  std::printf("%s cycles %lld flops %lld\n", result.failure.empty() ? "ok" : result.failure.c_str(),
              static_cast<long long>(result.cycles), static_cast<long long>(result.flops));
  return result.failure.empty() ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::testing::run);
}
