#include "sim/common/program_result.h"

#include <algorithm>

namespace fuseflow {

int64_t total_cycles(const ProgramRun& run, const Machine& machine) {
  int64_t cycles = 0;
  for (const RunResult& result : run.regions) cycles += result.cycles;
  const auto regions = static_cast<int64_t>(run.regions.size());
  return cycles + std::max<int64_t>(0, regions - 1) * machine.reconfiguration_cycles;
}

RunResult total_counts(const ProgramRun& run, const Machine& machine) {
  RunResult sum;
  for (const RunResult& part : run.regions) {
    sum.add_counts(part);
    sum.peak_fifo_tokens = std::max(sum.peak_fifo_tokens, part.peak_fifo_tokens);
  }
  sum.cycles = total_cycles(run, machine);
  return sum;
}

}  // namespace fuseflow
