// What a kernel is checked against and compared with on the GPU: its region's statements, each
// evaluated plainly, and the products that a library would be asked for.
#pragma once

#include <string>

#include "cuda/generate.h"

namespace fuseflow::cuda {

/// Function NAME_reference of NAME.cu: statement by statement, an element a thread, intermediates
/// in their types.
std::string reference_text(const Program& program, const Generated& generated);

/// The library's products as an initialiser of ff::GpuKernel::rivals.
std::string rivals_text(const Program& program, const Generated& generated);

}  // namespace fuseflow::cuda
