#include "cuda/instructions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/text.h"

namespace fuseflow::cuda {

std::string instructions_text(const std::vector<ProductForm>& forms) {
  std::string text =
      "// wgmma m64nNk16, to f32, in the forms that these kernels use: made by "
      "fuseflow-cuda.\n#pragma once\n\nnamespace ff {\n\n";
  for (const ProductForm& form : forms) {
    const int64_t registers = form.columns / 2;
    std::vector<std::string> places, operands;
    for (int64_t i = 0; i < registers; ++i) {
      places.push_back(fmt::format("%{}", i));
      operands.push_back(fmt::format("\"+f\"(d[{}])", i));
    }
    text += fmt::format(
        "template <>\n__device__ inline void wgmma<{0}, {1}, {2}, {7}>(float (&d)[{3}], uint64_t "
        "left, uint64_t right) {{\n"
        "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{8}.{8} {{{4}}}, %{3}, %{5}, "
        "1, 1, 1, {1}, {2};\"\n"
        "               : {6}\n               : \"l\"(left), \"l\"(right));\n}}\n\n",
        form.columns, form.left_by_columns ? 1 : 0, form.right_by_rows ? 1 : 0, registers,
        fmt::join(places, ", "), registers + 1, fmt::join(operands, ", "), type_text(form.element),
        element_name(form.element));
  }
  return text + "}  // namespace ff\n";
}

}  // namespace fuseflow::cuda
