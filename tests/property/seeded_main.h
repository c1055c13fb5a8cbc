// The main of property tests that go through random programs by their seeds.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <string>

namespace fuseflow::testing {

/// Reads `--seed` and `--count` (default: `count`) and gives what `run` does.
inline int seeded_main(int argc, char** argv, const std::string& what, uint64_t count,
                       int (*run)(uint64_t seed, uint64_t count)) {
  CLI::App app(what);
  uint64_t seed = 1;
  const std::string many = fmt::format("How many programs (default: {})", count);
  app.add_option("--seed", seed, "The first program (default: 1)");
  app.add_option("--count", count, many);
  CLI11_PARSE(app, argc, argv);
  return run(seed, count);
}

}  // namespace fuseflow::testing
