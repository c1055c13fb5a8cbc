// What the files of this folder share: MLIR's headers, the values of a function that is being read,
// and the places of errors.
#pragma once

#include <mlir/AsmParser/AsmParser.h>
#include <mlir/AsmParser/AsmParserState.h>
#include <mlir/Dialect/Affine/IR/AffineOps.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/SparseTensor/IR/SparseTensor.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "linalg/function.h"
#include "support/error.h"

namespace fuseflow {

/// Throws Error(rejected) at an operation's place in the file.
[[noreturn]] void refuse(mlir::Operation& op, const std::string& why);
Location place_of(mlir::Location where);
std::string name_of(mlir::Operation& op);  ///< "linalg.matmul"
/// A type as text, unless it has so many parts that nobody could read it.
std::string text_of(mlir::Type type);
/// The same of a message of MLIR.
std::string text_of(const mlir::Diagnostic& message);

/// The element type of a scalar, or of a tensor's elements; refused where `op` has one that is none
/// of ours.
ElementType element_type(mlir::Type type, mlir::Operation& op);
/// Refuses tensors of more dimensions than ours have.
void check_rank(size_t rank, mlir::Operation& op);
/// The format of a tensor's encoding; nothing if it has none.
std::optional<Format> format_of(mlir::RankedTensorType type, mlir::Operation& op);

/// Scalars of a function, or of the body of an operation in it: a tree for each SSA value.
struct ScalarScope {
  std::vector<BodyNode> nodes;
  llvm::DenseMap<mlir::Value, int32_t> at;
  llvm::DenseMap<int32_t, int32_t> copied;  ///< nodes of `outer` that are here, too
  ScalarScope* outer = nullptr;
  int64_t copies = 0;  ///< how many nodes other scopes have copied from here

  int32_t add(BodyNode node);
  int32_t integer(int64_t value, ElementType type = ElementType::i64);
  /// The number of a node, where it is a known integer.
  std::optional<int64_t> known(int32_t node) const {
    return nodes[static_cast<size_t>(node)].integer;
  }
};

/// Tensors and scalars by SSA value, at the operation that is being read.
struct FunctionScope {
  LinalgFunction function;
  llvm::DenseMap<mlir::Value, LinalgId> tensors;
  ScalarScope scalars;

  /// The tensor that an operation reads.
  LinalgId tensor(mlir::Value value, mlir::Operation& user) const;
};

/// The node of a scalar that `user` reads.
int32_t scalar(mlir::Value value, ScalarScope& scope, mlir::Operation& user);

/// A node of `scope.outer` in `scope`, too: with all that it is computed from.
int32_t outer_scalar(int32_t node, ScalarScope& scope);

/// Adds an operation on scalars (of arith, math, ...) to the scope.
void read_scalar(mlir::Operation& op, ScalarScope& scope, const FunctionScope& around);

/// What an operation of arith or math gives for one element of each tensor that it reads, whose
/// nodes are in `scope.at`.
int32_t elementwise_node(mlir::Operation& op, ScalarScope& scope);

/// The operations of a block, without its terminator.
void read_scalars(mlir::Block& block, ScalarScope& scope, const FunctionScope& around);

/// The integer that a scalar of the function is known to be; refused where it is not.
int64_t known_integer(mlir::OpFoldResult value, FunctionScope& scope, mlir::Operation& user);

/// A step of a body: MLIR's operation `op` of earlier steps.
BodyNode applied(std::string op, std::vector<int32_t> children, ElementType type);

}  // namespace fuseflow
