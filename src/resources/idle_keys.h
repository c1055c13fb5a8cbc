// Keys of a machine that can change nothing: in a program, or on the machine as its other keys are.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow {

struct IdleKey {
  std::string key;
  std::string why;  ///< "`dram.model` is fixed"
};

/// Those of `keys` that can change no count of the program, all of whose regions have graphs.
/// `without`: the machine before they were set.
std::vector<IdleKey> idle_keys(const Program& program, const Machine& machine,
                               const Machine& without, const std::vector<std::string>& keys);

/// Those of `keys` that can change no count of any program, as the machine's other keys are.
std::vector<IdleKey> contradicted_keys(const Machine& machine,
                                       const std::vector<std::string>& keys);

}  // namespace fuseflow
