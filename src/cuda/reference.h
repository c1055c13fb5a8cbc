// What a kernel is checked against and compared with on the GPU: its region's statements, each
// evaluated plainly, and the products that a library would be asked for.
#pragma once

#include <string>
#include <vector>

#include "cuda/generate.h"

namespace fuseflow::cuda {

/// Function NAME_statements of NAME.cu: statement by statement, an element a thread, or a product
/// of a library; intermediates in their types. `tensors`: those that have numbers, from 0 on.
/// `table`: null where the program is none of a table.
std::string statements_text(const Program& program, const Region& region, const std::string& name,
                            const std::vector<TensorId>& tensors, const TableRows* table);

/// Why a region's statements have no such function; empty where they have.
std::string why_no_statements(const Region& region, const std::vector<TensorId>& tensors);

/// The library's products as an initialiser of ff::GpuKernel::rivals.
std::string rivals_text(const Generated& generated);

}  // namespace fuseflow::cuda
