// From a planned program to kernels, with the reason for each region of tiles that has none.
#pragma once

#include <string>
#include <vector>

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// The kernel of a region, its schedule as text, or why there is none.
struct Generated {
  size_t region = 0;
  std::string name;     ///< of the kernel: letters, digits and underscores, each once
  std::string refused;  ///< empty: there is a kernel
  Kernel kernel;
  std::string schedule;
};

/// Every region whose graph is one of tiles, in order. The program must outlive what is given, and
/// so must `table`: the rows of a program of a table; null: it is none.
std::vector<Generated> generate(const Program& program, const TableRows* table = nullptr);

}  // namespace fuseflow::cuda
