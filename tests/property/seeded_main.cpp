#include "seeded_main.h"

#include <CLI/CLI.hpp>

#include <string>

namespace fuseflow::testing {

int seeded_main(int argc, char** argv, const char* what, uint64_t count,
                int (*run)(uint64_t seed, uint64_t count)) {
  CLI::App app(what);
  uint64_t seed = 1;
  const std::string many = "How many programs (default: " + std::to_string(count) + ")";
  app.add_option("--seed", seed, "The first program (default: 1)");
  app.add_option("--count", count, many);
  CLI11_PARSE(app, argc, argv);
  return run(seed, count);
}

}  // namespace fuseflow::testing
