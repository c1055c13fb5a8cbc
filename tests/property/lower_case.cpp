// Lowers the program of a file (inputs with inline values), prints it, and checks it against the
// reference: for looking into a case that the property test found.
#include <cstdio>

#include "check.h"
#include "lower/placements.h"

int main(int argc, char** argv) {
  using namespace fuseflow;
  if (argc < 2) return 2;
  const Program program = parse_program(read_source(argv[1]));
  testing::CheckOptions options;
  options.tolerance = 1e-4;
  if (argc > 2) options.machine.fifo_depth = std::atoi(argv[2]);
  try {
    std::printf("%s\n", print_program(lower_program(program)).c_str());
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  const auto result = testing::check_program(program, testing::load_inputs(program), options);
  std::printf("%s cycles %lld flops %lld\n", result.failure.empty() ? "ok" : result.failure.c_str(),
              static_cast<long long>(result.cycles), static_cast<long long>(result.flops));
  return result.failure.empty() ? 0 : 1;
}
