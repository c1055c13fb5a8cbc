#include "machine/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "machine/keys.h"
#include "support/error.h"

namespace fuseflow {

namespace {

[[noreturn]] void refuse(const Machine& machine, const char* key, int64_t value,
                         const std::string& expected) {
  throw Error(ExitCode::rejected, fmt::format("machine `{}`: `{}` is {}, expected {}", machine.name,
                                              key, value, expected));
}

/// Each bank takes room while it is simulated.
void check_banks(const Machine& machine) {
  constexpr int64_t kMostBanks = int64_t{1} << 20;
  const DramModel& dram = machine.dram;
  const int64_t banks = dram.bank_groups * dram.banks_per_group;
  if (banks <= kMostBanks / dram.channels) return;
  refuse(machine, "dram.channels", dram.channels,
         fmt::format("at most {} banks of all channels together; `dram.bank_groups` and "
                     "`dram.banks_per_group` give {} for each channel",
                     kMostBanks, banks));
}

/// A bank has time between its refreshes: each takes its turn in a round, and a request for the
/// bank must get a row of it opened before the next one, or it would wait for ever.
void check_refresh(const Machine& machine) {
  const DramModel& dram = machine.dram;
  const int64_t banks = dram.bank_groups * dram.banks_per_group;
  const int64_t round = dram.timing.refresh_interval_ps / banks * banks;
  const int64_t busy = dram.timing.refresh_ps + dram.timing.row_to_column_ps;
  if (round > busy) return;
  refuse(machine, "dram.timing.refresh_interval_ps", dram.timing.refresh_interval_ps,
         fmt::format("at least {} for {} banks: the next multiple of their number after "
                     "`dram.timing.refresh_ps` ({}) and `dram.timing.row_to_column_ps` ({}), "
                     "which a request for a bank waits for",
                     (busy / banks + 1) * banks, banks, dram.timing.refresh_ps,
                     dram.timing.row_to_column_ps));
}

/// Times of banks are picoseconds, and so is a cycle beside them.
void check_cycle(const Machine& machine) {
  constexpr double kMostOff = 0.01;
  const double cycle = 1000 / machine.clock_gigahertz;
  if (std::fabs(std::round(cycle) - cycle) <= kMostOff * cycle) return;
  throw Error(
      ExitCode::rejected,
      fmt::format("machine `{}`: `clock_gigahertz` is {:g}, expected a cycle that is within "
                  "1% of a whole number of picoseconds for `dram.model = \"banked\"`; it "
                  "has {:g}",
                  machine.name, machine.clock_gigahertz, cycle));
}

/// Rows and units of interleaving hold whole bursts; banks have time between refreshes.
void check_banked(const Machine& machine) {
  const DramModel& dram = machine.dram;
  const auto whole_bursts = [&](const char* key, int64_t bytes) {
    if (bytes % dram.burst_bytes == 0) return;
    refuse(machine, key, bytes,
           fmt::format("a multiple of `dram.burst_bytes` ({}) for `dram.model = \"banked\"`",
                       dram.burst_bytes));
  };
  whole_bursts("dram.row_bytes", dram.row_bytes);
  whole_bursts("dram.interleave_bytes", dram.interleave_bytes);
  check_banks(machine);
  check_cycle(machine);
  check_refresh(machine);
}

/// A channel is not slower than the slowest that its keys can say.
void check_bandwidth(const Machine& machine) {
  constexpr double kMostCycles = 1e9;
  const DramModel& dram = machine.dram;
  const double bytes = static_cast<double>(dram.channels) * static_cast<double>(dram.burst_bytes);
  const double least = bytes / kMostCycles * machine.clock_gigahertz;
  const double given = dram.bandwidth_gigabytes_per_second;
  if (given == 0 || given >= least || !machine.has_streams || dram.model == "none") return;
  throw Error(ExitCode::rejected,
              fmt::format("machine `{}`: `dram.bandwidth_gigabytes_per_second` is {:g}, expected 0 "
                          "or at least {:g}: a burst would take a channel more than 10^9 cycles",
                          machine.name, given, least));
}

/// What a node has collected for a batch may be all that bounded streams let through.
void check_batched(const Machine& machine) {
  if (machine.fifo_depth == 0) return;
  refuse(machine, "fifo_depth", machine.fifo_depth,
         "0, no bound, for `dram.model = \"comal\"`, whose batches could wait for ever");
}

/// A tile that misses the L2 is no nearer than one that hits.
void check_l2(const Machine& machine) {
  if (machine.global.bandwidth_gigabytes_per_second == 0 && machine.l2.latency_cycles > 0) {
    refuse(
        machine, "dram.bandwidth_gigabytes_per_second", 0,
        fmt::format("more than 0 where `l2.latency_cycles` is {}: memory would take no time, and "
                    "an L2 is not farther than memory",
                    machine.l2.latency_cycles));
  }
  if (machine.l2.latency_cycles <= machine.global.latency_cycles) return;
  refuse(machine, "l2.latency_cycles", machine.l2.latency_cycles,
         fmt::format("at most `dram.latency_cycles` ({})", machine.global.latency_cycles));
}

/// What cores do a cycle, and what they and memory move, takes a time that can be counted.
void check_core_rates(const Machine& machine) {
  constexpr double kLeast = 1e-6;  // a cycle
  if (machine.core.count == 0) return;
  Machine copy = machine;
  for (const MachineKey& key : machine_keys(copy)) {
    const auto* rate = std::get_if<double*>(&key.field);
    const MachinePart part = part_of(key.name);
    const bool of_cores = part == MachinePart::cores || part == MachinePart::around_cores ||
                          key.name == "dram.bandwidth_gigabytes_per_second";
    if (rate == nullptr || !of_cores || **rate == 0) continue;
    double cycles = 0;  // that a unit of the key is a rate for
    if (key.name.find("_per_cycle") != std::string::npos) cycles = 1;
    if (key.name.find("gigabytes_per_second") != std::string::npos)
      cycles = machine.clock_gigahertz;
    if (key.name.starts_with("links.")) cycles *= static_cast<double>(machine.core.count);
    if (cycles == 0 || **rate >= kLeast * cycles) continue;
    throw Error(ExitCode::rejected,
                fmt::format("machine `{}`: `{}` is {:g}, expected 0 or at least {:g}: what moves "
                            "once a cycle would take more than 10^6 cycles",
                            machine.name, key.name, **rate, kLeast * cycles));
  }
}

/// A family of instructions has all of its extents.
void check_matrix_shapes(const Machine& machine) {
  for (size_t i = 0; i < kMatrixShapes; ++i) {
    const MatrixShape& shape = machine.core.matrix_shapes[i];
    if (shape.rows == 0) continue;
    const std::string section = fmt::format("core.matrix_shapes.{}.", i + 1);
    const char* expected = "at least 1 where the family has rows";
    if (shape.columns == 0) refuse(machine, (section + "columns").c_str(), 0, expected);
    if (shape.depth == 0) refuse(machine, (section + "depth").c_str(), 0, expected);
  }
}

}  // namespace

void check_machine(const Machine& machine) {
  if (machine.dram.model == "comal") check_batched(machine);
  if (machine.dram.model == "banked") check_banked(machine);
  check_bandwidth(machine);
  if (machine.has_l2()) check_l2(machine);
  check_matrix_shapes(machine);
  check_core_rates(machine);
}

}  // namespace fuseflow
