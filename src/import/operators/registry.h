// The table of ONNX operators: one row an operator, in the file of its family.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace fuseflow {

class NodeImport;

/// How an operator is read.
enum class ReadAs {
  statements,  ///< as a view, or as statements of one kernel
  body,        ///< as a body of other operators (import/expansion.h)
  constant,    ///< only where its result is constant
};

struct OperatorRow {
  std::string_view name;  ///< with its domain, unless that is ONNX's own
  void (*convert)(NodeImport&);
  std::string_view note = {};  ///< what is left out, for the generated list; empty: nothing
  ReadAs how = ReadAs::statements;
};

/// An operator of ONNX that is refused by name.
struct RefusedRow {
  std::string_view name;
  std::string_view why;
};

// One function per family file.
std::span<const OperatorRow> attention_operators();
std::span<const OperatorRow> bits_operators();
std::span<const OperatorRow> cast_operators();
std::span<const OperatorRow> concat_operators();
std::span<const OperatorRow> constant_operators();
std::span<const OperatorRow> contraction_operators();
std::span<const OperatorRow> control_operators();
std::span<const OperatorRow> conv_transpose_operators();
std::span<const OperatorRow> determinant_operators();
std::span<const OperatorRow> elementary_operators();
std::span<const OperatorRow> elementwise_operators();
std::span<const OperatorRow> extremes_operators();
std::span<const OperatorRow> gather_operators();
std::span<const OperatorRow> grid_operators();
std::span<const OperatorRow> loop_operators();
std::span<const OperatorRow> loss_operators();
std::span<const OperatorRow> microsoft_operators();
std::span<const OperatorRow> movement_operators();
std::span<const OperatorRow> ngrams_operators();
std::span<const OperatorRow> normalization_kin_operators();
std::span<const OperatorRow> normalization_operators();
std::span<const OperatorRow> one_hot_operators();
std::span<const OperatorRow> padding_operators();
std::span<const OperatorRow> pool_operators();
std::span<const OperatorRow> quantisation_operators();
std::span<const OperatorRow> ranking_operators();
std::span<const OperatorRow> recurrent_operators();
std::span<const OperatorRow> reduction_operators();
std::span<const OperatorRow> resize_operators();
std::span<const OperatorRow> roi_align_operators();
std::span<const OperatorRow> scatter_operators();
std::span<const OperatorRow> sequence_operators();
std::span<const OperatorRow> spectrum_operators();
std::span<const OperatorRow> state_operators();
std::span<const OperatorRow> tensor_scatter_operators();
std::span<const OperatorRow> unpooling_operators();
std::span<const OperatorRow> value_shapes_operators();
std::span<const OperatorRow> window_operators();

/// All rows, sorted by name.
const std::vector<OperatorRow>& operator_table();
const OperatorRow* find_operator(std::string_view name);

/// Sorted by name. With operator_table() they are all operators of ONNX.
std::span<const RefusedRow> refused_operators();
/// Why the operator is refused; empty if that is not known.
std::string_view refusal_of(std::string_view name);

}  // namespace fuseflow
