// What a machine has too little of for a region.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow {

struct Shortage {
  std::string key;      ///< of the machine, that would have to be larger: "units.alu.count"
  std::string message;  ///< how much is needed, and what to do
};

/// What a graph of streams needs more than the machine has; nothing if it fits.
std::optional<Shortage> shortage_of(const Program& program, const Region& region,
                                    const Graph& graph, const Machine& machine);

}  // namespace fuseflow
