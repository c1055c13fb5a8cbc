// The main of property tests that go through random programs by their seeds.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace fuseflow::testing {

/// Reads `--seed` and `--count` (default: `count`) and gives what `run` does.
int seeded_main(int argc, char** argv, const char* what, uint64_t count,
                int (*run)(uint64_t seed, uint64_t count));

/// What `check` says is wrong, or what it threw: the caller prints the seed with either.
template <typename Check>
std::string wrong_or_thrown(Check check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return std::string("throws: ") + error.what();
  }
}

}  // namespace fuseflow::testing
