// Copies of tensors in other formats (Tensor::copy_of). Those of constants are there before a
// program runs. What arrives at run time, inputs, the machine has to convert: a lowered program has
// a region that makes such a copy. ir-spec/storage.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// The tensor like `of` (an input or constant with a source) that is stored as `format`: `of`
/// itself, its original, or a copy that is there already; else a new copy, whose name is that of
/// the original, `suffix` and a number. Copies of copies are copies of the original.
TensorId copy_as(Program& program, TensorId of, const Format& format, std::string_view suffix);

/// The region reads `copy` where it read `original`, in its statements and in its graph.
void read_copy(Region& region, TensorId original, TensorId copy);

/// Lets lines of a region's schedule name what its statements read of a tensor, where they name its
/// original or another copy. Lines of two copies that are one tensor now become one: in the
/// scratchpad where one of them was.
void follow_copies(Program& program, size_t region);

/// The tensor whose elements a copy has; itself where it is none, and in a part of a program
/// without that tensor.
TensorId original_of(const Program& program, TensorId tensor);

/// `%c[i, j] = %a[i, j]`, where c is declared `copy(%a)`.
bool is_copy_statement(const Program& program, const Statement& statement);

/// Whether a region makes a copy and does nothing else.
bool makes_copy(const Program& program, const Region& region);

/// The region that makes a copy of an input, with its graph.
Region copy_region(const Program& program, TensorId copy);

/// Copies that the machine makes and that a region reads, ascending.
std::vector<TensorId> copies_read(const Program& program, const Region& region);

/// Puts regions that make the copies that regions read, and none makes yet, before all others: so
/// none of them runs while an intermediate stays on chip.
void add_copy_regions(Program& program);

/// Without regions that make copies: lowering adds them again. What chooses asks for this, so that
/// it does not take them for kernels.
Program without_copy_regions(Program program);

/// Why a tensor may not be declared as a copy of what it names; nothing if it may.
std::optional<std::string> wrong_copy(const Program& program, const Tensor& copy);

/// What is wrong with a region that makes a copy, or has the graph of a conversion; nothing if it
/// does not or all is well.
std::optional<std::string> wrong_copy_region(const Program& program, const Region& region);

}  // namespace fuseflow
