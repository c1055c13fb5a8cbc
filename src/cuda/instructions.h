// instructions.h of a folder of kernels: the forms of wgmma that they use, as inline PTX.
#pragma once

#include <string>
#include <vector>

#include "cuda/print.h"

namespace fuseflow::cuda {

std::string instructions_text(const std::vector<ProductForm>& forms);

}  // namespace fuseflow::cuda
