// Traces of memory: what was asked for, and when. Read, written, and run through a memory model
// open loop (no answer holds a later access up). Format: ir-spec/memory.md "Traces".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "sim/memory/dram.h"
#include "support/io.h"

namespace fuseflow {

struct TracedAccess {
  int64_t cycle = 0;
  bool write = false;
  uint64_t address = 0;
};

struct MemoryTrace {
  std::vector<TracedAccess> accesses;  ///< in the order of their lines
  int64_t burst_bytes = 0;  ///< of the machine that was traced; 0: the trace does not say
};

/// Throws Error(rejected) with the line of what is no access, comes before the one above it, or
/// says another burst than a line above.
MemoryTrace parse_memory_trace(const SourceText& source);

/// The same bytes in bursts of the machine, of which each of the trace has a whole number. Throws
/// Error(rejected) where it has not: that would be other traffic.
std::vector<TracedAccess> in_bursts_of(MemoryTrace trace, const Machine& machine);

/// The first line, which says the bursts of the machine that is traced.
std::string trace_head(const Machine& machine);
/// One line.
std::string trace_line(const TracedAccess& access);

struct TraceRun {
  int64_t cycles = 0;   ///< at which the last access was answered
  int64_t waiting = 0;  ///< cycles from access to answer, all together
  MemoryStats stats;
};

/// Throws Error(usage) if the machine has no memory model.
void require_memory_model(const Machine& machine);

/// Each access asks for the burst that its address is in. Throws as
/// require_memory_model(), and Error(rejected) for cycles beyond what its clock can count.
TraceRun run_memory_trace(const std::vector<TracedAccess>& trace, const Machine& machine);

/// Header and one row.
std::string trace_csv(const TraceRun& run, const Machine& machine);

}  // namespace fuseflow
