// The files of a folder of kernels, as text: what is generated, and the headers that it includes.
#pragma once

#include <string>
#include <vector>

#include "cuda/generate.h"
#include "machine/machine.h"

namespace fuseflow::cuda {

struct TextFile {
  std::string path;  ///< in the folder
  std::string text;
};

/// Schedules, kernels, programs that run them, the Makefile and the headers.
std::vector<TextFile> files_of(const Program& program, const std::vector<Generated>& kernels);

/// plan.csv: what the plan predicts of each kernel, what it needs, and what was refused.
std::string plan_csv(const Program& program, const std::vector<Generated>& kernels,
                     const Machine& machine);

}  // namespace fuseflow::cuda
