// The main of property tests that go through random programs by their seeds.
#pragma once

#include <cstdint>

namespace fuseflow::testing {

/// Reads `--seed` and `--count` (default: `count`) and gives what `run` does.
int seeded_main(int argc, char** argv, const char* what, uint64_t count,
                int (*run)(uint64_t seed, uint64_t count));

}  // namespace fuseflow::testing
