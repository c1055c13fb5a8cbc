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
    sum.flops += part.flops;
    sum.dram_read_bytes += part.dram_read_bytes;
    sum.dram_write_bytes += part.dram_write_bytes;
    sum.scratchpad_read_bytes += part.scratchpad_read_bytes;
    sum.scratchpad_write_bytes += part.scratchpad_write_bytes;
    sum.link_bytes += part.link_bytes;
    sum.register_bytes += part.register_bytes;
    sum.tokens += part.tokens;
    sum.peak_fifo_tokens = std::max(sum.peak_fifo_tokens, part.peak_fifo_tokens);
  }
  sum.cycles = total_cycles(run, machine);
  return sum;
}

}  // namespace fuseflow
