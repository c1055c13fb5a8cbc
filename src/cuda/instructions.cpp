#include "cuda/instructions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chip/fit.h"
#include "cuda/text.h"

namespace fuseflow::cuda {
namespace {

/// `m64n128k16.f32.f16.f16`, and what it is told beside its operands: to add, no signs turned and,
/// of elements of two bytes, which operands lie along the other dimension. Elements of f32 are
/// multiplied as tf32.
struct Instruction {
  std::string name, flags;
};
Instruction instruction_of(const ProductForm& form) {
  const int64_t bytes = element_bytes(form.left);
  const auto name = [&](ElementType type) {
    const std::string own{element_name(type)};
    return bytes == 1 ? own.substr(2) : bytes == 4 ? "t" + own : own;  // e4m3 of f8e4m3
  };
  return {fmt::format("m64n{}k{}.f32.{}.{}", form.columns, chip::kDepthBytes / bytes,
                      name(form.left), name(form.right)),
          bytes == 2 ? fmt::format("1, 1, 1, {:d}, {:d}", form.left_by_columns, form.right_by_rows)
                     : "1, 1, 1"};
}

}  // namespace

std::string instructions_text(const std::vector<ProductForm>& forms) {
  std::string text =
      "// wgmma m64nNk16 (k32 of elements of one byte, k8 of four), to f32, in the forms that "
      "these\n"
      "// kernels use: made by fuseflow-cuda.\n#pragma once\n\nnamespace ff {\n\n";
  for (const ProductForm& form : forms) {
    const Instruction instruction = instruction_of(form);
    const int64_t registers = form.columns / 2;
    std::vector<std::string> places, operands;
    for (int64_t i = 0; i < registers; ++i) {
      places.push_back(fmt::format("%{}", i));
      operands.push_back(fmt::format("\"+f\"(d[{}])", i));
    }
    text += fmt::format(
        "template <>\n__device__ inline void wgmma<{0}, {1:d}, {2:d}, {7}, {8}>(float (&d)[{3}], "
        "uint64_t left, uint64_t right) {{\n"
        "  asm volatile(\"wgmma.mma_async.sync.aligned.{9} {{{4}}}, %{3}, %{5}, {10};\"\n"
        "               : {6}\n               : \"l\"(left), \"l\"(right));\n}}\n\n",
        form.columns, form.left_by_columns, form.right_by_rows, registers, fmt::join(places, ", "),
        registers + 1, fmt::join(operands, ", "), type_text(form.left), type_text(form.right),
        instruction.name, instruction.flags);
  }
  return text + "}  // namespace ff\n";
}

}  // namespace fuseflow::cuda
