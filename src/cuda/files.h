// The files of a folder of kernels, as text: what is generated, and the headers that it includes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cuda/generate.h"
#include "cuda/instructions.h"
#include "cuda/table.h"
#include "machine/machine.h"

namespace fuseflow::cuda {

struct TextFile {
  std::string path;  ///< in the folder
  std::string text;
};

/// Schedules, kernels, programs that run them, the Makefile and the headers.
std::vector<TextFile> files_of(const Program& program, const std::vector<Generated>& kernels);

/// The same of a table: every kernel once, and programs that take a number of rows.
std::vector<TextFile> files_of(const std::vector<TableEntry>& table);

/// The tensors that kernels, and regions without one that are run plainly, read or give.
std::set<TensorId> tensors_to_run(const Program& program, const std::vector<Generated>& kernels);

/// KERNEL.cu.
std::string kernel_file(const Program& program, const Generated& g);
/// What does not depend on what kernels do: the Makefile for files of these names, the headers.
std::vector<TextFile> common_files(const std::vector<std::string>& names,
                                   const std::set<ProductForm>& forms);

/// plan.csv: what the plan predicts of each kernel, what it needs, and what was refused.
std::string plan_csv(const Program& program, const std::vector<Generated>& kernels,
                     const Machine& machine);
std::string plan_csv(const std::vector<TableEntry>& table, const Machine& machine);

}  // namespace fuseflow::cuda
