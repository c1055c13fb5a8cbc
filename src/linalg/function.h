// A function of linalg operations on tensors as plain data: what MLIR's parser gives (parse/) and
// what statements are made of (convert.h). Calls are inlined, loops unrolled, encodings are
// formats; scalars outside of operations are part of the bodies that use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/values/constant_tensor.h"
#include "ir/program.h"

namespace fuseflow {

/// Position in LinalgFunction::values.
using LinalgId = int32_t;

/// A tensor in SSA form. A scalar has no dimensions.
struct LinalgValue {
  std::string name;  ///< as in the file, without the %
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::optional<Format> format;  ///< its encoding, if it has one
};

/// A step of what an operation computes from one element of each operand.
struct BodyNode {
  enum class Kind : uint8_t { operand, constant, index, apply, element } kind = Kind::constant;
  int32_t operand = 0;             ///< operand: its number among the inputs, then the outs
  float constant = 0;              ///< constant
  std::optional<int64_t> integer;  ///< constant: the same number, where it is a known integer
  int32_t loop = 0;                ///< index: the loop whose number it is
  std::string op;                  ///< apply: MLIR's operation, "arith.cmpf ogt" with its predicate
  LinalgId value = -1;             ///< element: the tensor that is read
  /// apply, select(condition, x, identity): where the condition is 0, a round of a reduction counts
  /// for nothing. It begins with the identity; an element of a sparse result for which no round
  /// counts is not there.
  bool skips = false;
  ElementType type = ElementType::f32;  ///< of the step's result
  std::vector<int32_t> children;        ///< apply: operands; element: subscripts; earlier nodes
};

/// A tensor and how the loops walk over it: one subscript a dimension, over numbers of loops.
struct LinalgOperand {
  LinalgId value = -1;
  std::vector<Subscript> map;
};

struct LinalgOp {
  enum class Kind : uint8_t {
    structured,  ///< loops, operands, a body: linalg.generic and all that it can say
    argument,    ///< of the function
    constant,
    empty,    ///< elements that nothing has defined yet
    reshape,  ///< the same elements in row-major order
    slice,    ///< input 0 at offsets + strides * coordinate; extents of 1 may be gone
    concat,   ///< inputs side by side along `dim`
    copy      ///< the same elements, perhaps in another format
  } kind = Kind::structured;
  std::string name;    ///< "linalg.matmul"
  std::string region;  ///< operations of one (unempty) name form one region
  Location where;
  std::vector<LinalgId> results;
  std::vector<LinalgOperand> inputs;
  // structured
  std::vector<LinalgOperand> outs;
  std::vector<int64_t> loops;   ///< extents
  std::vector<bool> reduces;    ///< by loop
  std::vector<BodyNode> body;   ///< children before parents
  std::vector<int32_t> yields;  ///< by result
  // slice: one a dimension of the larger tensor
  std::vector<int64_t> offsets, sizes, strides;
  std::vector<bool> dropped;  ///< slice: dimensions that the smaller tensor lacks
  int dim = 0;                ///< concat
  ConstantPtr data;           ///< constant; null: its values are left out of the file
};

struct LinalgFunction {
  std::string name;
  std::vector<LinalgValue> values;
  std::vector<LinalgOp> ops;  ///< in order of execution
  std::vector<LinalgId> arguments;
  std::vector<LinalgId> returned;
  bool given_regions = false;  ///< the file says which operations form a region
};

}  // namespace fuseflow
