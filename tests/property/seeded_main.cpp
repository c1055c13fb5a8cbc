#include "seeded_main.h"

#include <string>

#include "shell/tool.h"

namespace fuseflow::testing {

int seeded_main(int argc, char** argv, const char* what, uint64_t count,
                int (*run)(uint64_t seed, uint64_t count)) {
  CommandLine app(what, "property");
  uint64_t seed = 1;
  const std::string many = "How many programs (default: " + std::to_string(count) + ")";
  app.add_option("--seed", seed, "The first program (default: 1)");
  app.add_option("--count", count, many);
  if (const auto ended = read_arguments(argc, argv, app)) return *ended;
  return run(seed, count);
}

}  // namespace fuseflow::testing
