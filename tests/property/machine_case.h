// A random program under a random schedule on a random machine: what must hold there. Shared by the
// property test and the fuzz target of machines.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::testing {

/// FIFOs of depth 0 to 8, units with long latencies, tiny scratchpads, every memory model, from one
/// outstanding burst on. Depends on nothing but the seed.
Machine draw_machine(uint64_t seed);

/// Lowers and runs the program of a seed on the machine of another. Without a memory model both
/// executors agree in everything, on any number of threads and however the engine is tuned; with
/// one, the fast executor gives the same tokens and results, however it is tuned, and no deadlock
/// that is not there without. Results are the reference's. A depth advised against a deadlock frees
/// it. Returns what is wrong, or nothing.
std::string check_on_machine(uint64_t program_seed, uint64_t machine_seed);
/// Checks a program in the same way on the machine of a seed.
std::string check_on_machine(const Program& program, uint64_t machine_seed);

}  // namespace fuseflow::testing
