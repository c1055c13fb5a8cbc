// The program in the making: tensors with what the importer knows of them, and statements in order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/values/constant_tensor.h"
#include "ir/program.h"

namespace fuseflow {

/// "The mask is ... at these coordinates": a condition under which a value is finite.
struct MaskCondition {
  enum class Kind { nonzero, zero, finite, above, below };
  TensorId mask = -1;
  Kind kind = Kind::nonzero;
  std::vector<IndexId>
      indices;          ///< by dimension of the mask: index of a statement, or result dimension
  float threshold = 0;  ///< above, below
  bool operator==(const MaskCondition&) const = default;
};

/// Where a value is finite: where all of the conditions hold, if what is not known of it is finite.
struct MaskConditions {
  std::vector<MaskCondition> all;
  bool absent_elsewhere = true;  ///< where one of them does not hold it is -inf, and no number
};

/// What sums of finite masks are among scores (mask_sums.h): finite; -inf in some entries, but none
/// of them makes up a row; -inf in all entries of some row.
enum class MaskOverflow { none, entries, rows };

/// A tensor of the program in the making.
struct Draft {
  Tensor tensor;
  std::vector<int64_t> shape;
  std::vector<int64_t> bound_shape;            ///< inputs: the shape of the bound data
  ConstantPtr data;                            ///< constants: the values
  ConstantPtr values;                          ///< inputs: the bound data, as far as it is kept
  std::optional<MaskConditions> finite_where;  ///< over the tensor's dimensions
  std::string base_name;                       ///< parts of a split intermediate: its name
  std::string initializer;         ///< constants that are an initializer as it stands: its name
  bool from_input = false;         ///< constants: computed from a bound integer input
  bool activation = false;         ///< constants: rows of weights that such an input selects
  std::optional<Format> declared;  ///< the format that the model says, of what statements define
  bool pinned = false;             ///< the dimensions must not be cut (--format names the levels)
  bool read_outside = false;       ///< some access has subscripts out of range
  MaskOverflow overflow = MaskOverflow::none;  ///< of a softmax's scores
  bool rows_finite = false;       ///< a softmax over it takes a finite maximum of every row
  bool selects = false;           ///< weights of what is read, 0 for what is not
  bool unsigned_word = false;     ///< of ONNX's uint32 or uint64
  bool thinned = false;           ///< mostly 0 by its values, which no structure says
  int edges = -1;                 ///< values of edges: the number of the matrix they stand in
  bool edge_matrix = false;       ///< that matrix itself: what it masks is absent off its entries
  TensorId nonzero_if = -1;       ///< never 0 if that tensor is finite (a softmax's denominator)
  std::optional<double> density;  ///< of inputs and constants
};

/// A statement and the node (for its region) that it came from.
struct DraftStatement {
  Statement statement;
  int group = -1;  ///< statements of one group form one region
};

/// An input as it was bound: what a repeated import needs to arrive at the same constants.
struct InputUse {
  std::string name;
  Source source;
  std::vector<int64_t> shape;
  bool constant = false;  ///< its values were used as a constant
};

/// Rows of a softmax that its mask closes entirely (closed_rows.h): constants that the program may
/// use. Dimensions are those of the scores.
struct FullyMaskedRows {
  TensorId maximum = -1;  ///< the result of the softmax's first statement
  ConstantPtr vector;     ///< one bit a row
  ConstantPtr matrix;     ///< one bit an entry: those of the fully masked rows
  std::vector<int> vector_dims;
  std::vector<int> matrix_dims;
  std::string vector_name;
  std::string matrix_name;
  std::vector<MaskCondition> conditions;  ///< other rows have a score for which they hold
};

/// A statement in front of a softmax that masks with a large finite number (finite_masks.h).
struct FiniteMask {
  TensorId value = -1;    ///< what the statement makes
  TensorId maximum = -1;  ///< the result of the softmax's first statement
  float masked = 0;       ///< the number as the softmax sees it
  MaskCondition open;     ///< over the statement's indices
  std::vector<int> dims;  ///< the scores' dimension of each dimension of `value`
  bool added = false;     ///< a masked entry is the number and more: a score, a later term
  float shift = 0;  ///< at most this is added to all entries by numbers of the model, if negative
  std::vector<TensorId> way;  ///< from the scores of the softmax back to `value`
};

struct DraftProgram {
  std::vector<Draft> tensors;
  std::vector<DraftStatement> statements;  ///< in order of definition
  int64_t kept_values = 0;                 ///< elements of computed masks whose values are kept
  std::vector<InputUse> inputs;
  std::vector<FullyMaskedRows> closed_rows;
  std::vector<FiniteMask> finite_masks;
  std::map<int, std::string> region_names;  ///< by group; others are named by their last statement
  std::vector<Facts> expected;  ///< by tensor: facts that hold unless a finite number overflows
};

}  // namespace fuseflow
