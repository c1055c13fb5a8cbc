// Tensors that operations make: their types, and their extents as far as they are known.
#pragma once

#include <vector>

#include "linalg/parse/scope.h"

namespace fuseflow {

const std::vector<int64_t>& shape_of(LinalgId id, const FunctionScope& scope);

[[noreturn]] void refuse_large(mlir::Operation& op);

/// Sums and products of extents; refused where they exceed 62 bits.
int64_t sum_of(int64_t a, int64_t b, mlir::Operation& op);
int64_t product_of(int64_t a, int64_t b, mlir::Operation& op);

/// A new value of this type; `shape` has the extents that the type leaves open.
LinalgId new_value(mlir::Type type, std::vector<int64_t> shape, mlir::Operation& op,
                   FunctionScope& scope);

/// The extents of a type that leaves none open; refused for others.
std::vector<int64_t> static_shape(mlir::Type type, mlir::Operation& op);

/// The extents of a type; `dynamic` are those that it leaves open.
std::vector<int64_t> sizes_of(mlir::RankedTensorType type, mlir::ValueRange dynamic,
                              FunctionScope& scope, mlir::Operation& op);

std::vector<int64_t> known_integers(llvm::ArrayRef<mlir::OpFoldResult> values, FunctionScope& scope,
                                    mlir::Operation& op);

/// Where the smaller tensor of a slice lies in the larger one: by dimension of the larger.
struct SlicePlaces {
  std::vector<int64_t> offsets, sizes, strides;
  std::vector<bool> dropped;  ///< dimensions that the smaller tensor lacks

  std::vector<int64_t> kept_sizes() const;
};

/// Of a tensor::ExtractSliceOp or InsertSliceOp; `around`: the extents of the larger tensor.
/// Refused where it lies outside.
template <typename Slice>
SlicePlaces read_places(Slice op, const std::vector<int64_t>& around, FunctionScope& scope);

}  // namespace fuseflow
