// Pieces of MLIR's text: numbers, types, maps, the operations of a body.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// An f32 as MLIR reads it: with all digits, bits where it is no number.
std::string mlir_number(float value);

/// Lines of a body; every value is an f32, conditions are 0 and 1.
class MlirBody {
 public:
  /// A value `%bN`, defined by `text` ("arith.addf %a, %b : f32").
  std::string add(const std::string& text);
  std::string constant(float value);
  std::string apply(Op op, const std::vector<std::string>& x);
  /// The number of a loop.
  std::string index(size_t loop);
  /// A value as an element of the type: rounded, within its range.
  std::string stored(const std::string& value, ElementType type);
  std::string reduced(Reduction reduction, const std::string& so_far, const std::string& value);
  const std::string& lines() const { return lines_; }

 private:
  std::string one(const char* op, const std::string& a);
  std::string two(const char* op, const std::string& a, const std::string& b);
  std::string compared(const char* predicate, const std::string& a, const std::string& b);
  std::string number(const std::string& condition);
  std::string chosen(const std::string& condition, const std::string& a, const std::string& b);
  std::string rounded_to(const char* type, const std::string& x);
  std::string sigmoid(const std::string& x);
  std::string composed(Op op, const std::vector<std::string>& x);

  std::string lines_;
  int next_ = 0;
};

/// `tensor<2x3xf32>`, with an encoding's name `tensor<2x3xf32, #enc0>`.
std::string mlir_type(const std::vector<int64_t>& shape, const std::string& encoding = {});

/// The encoding of a format, without a name. Throws Error(rejected) for bit vectors.
std::string mlir_encoding(const Format& format, const std::string& tensor);

/// `affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>`; subscripts are over loops.
std::string mlir_map(size_t loops, const std::vector<Subscript>& subscripts);

}  // namespace fuseflow
