// Parts of kernels as C++ text: coordinates, places of elements, elementwise work.
#pragma once

#include <map>
#include <string>

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Numbers that the kernel's text gives to tensors, by TensorId.
using TensorNumbers = std::map<TensorId, int>;

/// `m * 64 + core_m * 32`; "0" where nothing is added.
std::string text_of(const Coordinate& at);
std::string text_of(const CoreGroup& group);

/// A lambda (row, column) -> long: the number of the element in its tensor, -1 where it has none.
std::string place_lambda(const Program& program, const Kernel& kernel, const ElementAt& element,
                         int indent);

/// A lambda (row, column, x[, y]) -> float of the work. Throws Refused for what it cannot say.
std::string work_lambda(const Program& program, const Kernel& kernel, const Work& work,
                        const TensorNumbers& tensors, const std::string& swapped, int indent);

/// A lambda (row, column) that stores the work of an element of a tile.
std::string element_lambda(const Program& program, const Kernel& kernel, const Work& work,
                           const ElementAt& result, const TensorNumbers& tensors, int indent);

/// The lambdas value, combine and finish of each_row (shared/rows.h).
std::string rows_lambdas(const Program& program, const Kernel& kernel, const RowsReduction& rows,
                         const ElementAt& result, const TensorNumbers& tensors, int indent);

/// Two values of a reduction as one (of a mean their sum).
std::string combined_text(Reduction reduction, const std::string& x, const std::string& y);

/// A number of f32 as C++ text.
std::string number_text(float value);

/// An operator of operands that are C++ text.
std::string operator_text(Op op, const std::vector<std::string>& operands);

/// Whether kernels read elements of a type, and whether they multiply them with matrix units and
/// write them; its name in their text: `ff::Type::f16`.
bool is_read(ElementType type);
bool is_multiplied(ElementType type);
std::string type_text(ElementType type);

}  // namespace fuseflow::cuda
