#include "cluster/common/machine_to_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "machine/keys.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

/// Keys of cores that nothing divides by, by a part of their names.
constexpr std::array<std::string_view, 5> kMayBeZero{"latency", "barrier", "operations_per_cycle",
                                                     "matrix_shapes", "of_bytes"};

bool is_zero(const MachineKey& key) {
  const auto* const* whole = std::get_if<int64_t*>(&key.field);
  const auto* const* real = std::get_if<double*>(&key.field);
  return (whole != nullptr && **whole == 0) || (real != nullptr && **real == 0);
}

[[noreturn]] void refuse(const Machine& machine, const std::string& key) {
  throw Error(ExitCode::usage,
              fmt::format("machine {} has no cores to plan for: '{}' is 0, expected a machine such "
                          "as h100 or rda",
                          machine.name, key));
}

}  // namespace

void require_cores(const Machine& machine) {
  Machine copy = machine;
  for (const MachineKey& key : machine_keys(copy)) {
    if (!key.name.starts_with("core.") || !is_zero(key)) continue;
    const bool may_be_zero = std::any_of(
        kMayBeZero.begin(), kMayBeZero.end(),
        [&](std::string_view part) { return key.name.find(part) != std::string::npos; });
    if (!may_be_zero) refuse(machine, key.name);
  }
  if (machine.global_bytes_per_cycle() == 0) refuse(machine, "dram.bandwidth_gigabytes_per_second");
}

Machine machine_to_plan(Machine machine) {
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    const int cores = kClusterSizes[i];
    if (cores == 1 || machine.links.bandwidth_gigabytes_per_second[i] > 0) continue;
    machine.links.most_cores[i] = cores - 1;  // too few for one such cluster
  }
  return machine;
}

}  // namespace fuseflow::cluster
