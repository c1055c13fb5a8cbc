// The schedule of a kernel as C++ text (NAME.gen.h): what is the same for the GPU and for the CPU.
#pragma once

#include <string>

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// The text of a fitted kernel. Throws Refused for elementwise work that has no text.
std::string kernel_text(const Program& program, const Kernel& kernel);

/// Tensors that a kernel reads and writes, in the order of its text's numbers; results are the
/// last.
std::vector<TensorId> tensors_of(const Kernel& kernel);

/// The products of columns that its multiplications are made of, for instructions.h.
struct ProductForm {
  int64_t columns = 0;
  bool left_by_columns = false, right_by_rows = false;
  ElementType left = ElementType::f16, right = ElementType::f16;
  auto operator<=>(const ProductForm&) const = default;
};
std::vector<ProductForm> product_forms(const Kernel& kernel);

}  // namespace fuseflow::cuda
