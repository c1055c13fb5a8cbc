// From a planned program to kernels, with the reason for each region of tiles that has none.
#pragma once

#include <string>
#include <vector>

#include "cuda/kernel.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cuda {

/// Says of the loads of graphs of tiles which of them threads gather (chip/copies.h), as the
/// planner says it of its own: a plan from elsewhere may not say so.
void mark_gathered(Program& program);

/// The kernel of a region, its schedule as text, or why there is none.
struct Generated {
  size_t region = 0;
  std::string name;     ///< of the kernel: letters, digits and underscores, each once
  std::string refused;  ///< empty: there is a kernel
  Kernel kernel;
  std::string schedule;
};

/// Every region whose graph is one of tiles, in order; of the machine counts how many clusters run
/// at a time. The program must outlive what is given, and so must `table`: the rows of a program of
/// a table; null: it is none.
std::vector<Generated> generate(const Program& program, const Machine& machine,
                                const TableRows* table = nullptr);

}  // namespace fuseflow::cuda
