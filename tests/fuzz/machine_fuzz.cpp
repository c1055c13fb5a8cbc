// Fuzzes machines: the bytes are the seeds of a program with its schedule and of a machine
// (tests/property/ machine_case.h), which must agree with the naive executor and the reference.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "machine_case.h"

namespace {

uint64_t seed_of(const uint8_t* data, size_t size) {
  uint64_t seed = 1469598103934665603ULL;
  for (size_t i = 0; i < size; ++i) seed = (seed ^ data[i]) * 1099511628211ULL;
  return seed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const size_t half = size / 2;
  const uint64_t program = seed_of(data, half);
  const uint64_t machine = seed_of(data + half, size - half);
  const std::string wrong = fuseflow::testing::check_on_machine(program, machine);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "machine_property --only %llu %llu: %s\n",
               static_cast<unsigned long long>(program), static_cast<unsigned long long>(machine),
               wrong.c_str());
  __builtin_trap();
}
