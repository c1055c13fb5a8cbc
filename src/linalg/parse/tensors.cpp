// Extents are checked where a tensor is made, so that nothing later meets those that overflow.
#include "linalg/parse/tensors.h"

#include <fmt/format.h>

namespace fuseflow {

namespace {

/// Refused where it exceeds 62 bits.
int64_t within_range(bool overflow, int64_t value, mlir::Operation& op) {
  constexpr int64_t kLargest = int64_t{1} << 62;
  if (overflow || value > kLargest || value < -kLargest) refuse_large(op);
  return value;
}

}  // namespace

[[noreturn]] void refuse_large(mlir::Operation& op) {
  refuse(op, "extents, offsets or coefficients that exceed 62 bits, expected smaller ones");
}

const std::vector<int64_t>& shape_of(LinalgId id, const FunctionScope& scope) {
  return scope.function.values[static_cast<size_t>(id)].shape;
}

int64_t sum_of(int64_t a, int64_t b, mlir::Operation& op) {
  int64_t value = 0;
  const bool overflow = __builtin_add_overflow(a, b, &value);
  return within_range(overflow, value, op);
}

int64_t product_of(int64_t a, int64_t b, mlir::Operation& op) {
  int64_t value = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &value);
  return within_range(overflow, value, op);
}

LinalgId new_value(mlir::Type type, std::vector<int64_t> shape, mlir::Operation& op,
                   FunctionScope& scope) {
  const auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked)
    refuse(op,
           "gives something that is no tensor of known rank; expected tensors "
           "(run before bufferization and vectorization)");
  check_rank(shape.size(), op);
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1)
      refuse(op, fmt::format("a tensor with the extent {}, expected at least 1", shape[d]));
    const int64_t declared = ranked.getDimSize(static_cast<unsigned>(d));
    if (!mlir::ShapedType::isDynamic(declared) && declared != shape[d])
      refuse(op, fmt::format("dimension {} has the extent {}, expected {} as its type says", d,
                             shape[d], declared));
    count = product_of(count, shape[d], op);
  }
  LinalgValue value;
  value.type = element_type(ranked.getElementType(), op);
  value.format = format_of(ranked, op);
  value.shape = std::move(shape);
  scope.function.values.push_back(std::move(value));
  return static_cast<LinalgId>(scope.function.values.size()) - 1;
}

std::vector<int64_t> static_shape(mlir::Type type, mlir::Operation& op) {
  const auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked || !ranked.hasStaticShape())
    refuse(op, "gives extents that are not known, expected a tensor of static shape");
  return ranked.getShape().vec();
}

std::vector<int64_t> known_integers(llvm::ArrayRef<mlir::OpFoldResult> values, FunctionScope& scope,
                                    mlir::Operation& op) {
  std::vector<int64_t> result;
  for (const mlir::OpFoldResult value : values) result.push_back(known_integer(value, scope, op));
  return result;
}

std::vector<int64_t> sizes_of(mlir::RankedTensorType type, mlir::ValueRange dynamic,
                              FunctionScope& scope, mlir::Operation& op) {
  std::vector<int64_t> shape = type.getShape().vec();
  size_t next = 0;
  for (int64_t& extent : shape) {
    if (!mlir::ShapedType::isDynamic(extent)) continue;
    if (next >= dynamic.size()) refuse(op, "an extent that is not known");
    extent = known_integer(mlir::OpFoldResult(dynamic[next++]), scope, op);
  }
  return shape;
}

std::vector<int64_t> SlicePlaces::kept_sizes() const {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!dropped[d]) shape.push_back(sizes[d]);
  }
  return shape;
}

template <typename Slice>
SlicePlaces read_places(Slice op, const std::vector<int64_t>& around, FunctionScope& scope) {
  SlicePlaces places;
  places.offsets = known_integers(op.getMixedOffsets(), scope, *op);
  places.sizes = known_integers(op.getMixedSizes(), scope, *op);
  places.strides = known_integers(op.getMixedStrides(), scope, *op);
  const auto dropped = op.getDroppedDims();
  for (size_t d = 0; d < places.sizes.size(); ++d) {
    places.dropped.push_back(dropped.test(static_cast<unsigned>(d)));
    if (places.strides[d] < 1) refuse(*op, "expected strides of at least 1");
    if (places.sizes[d] < 1) refuse(*op, "expected sizes of at least 1");
    const int64_t length = product_of(places.strides[d], places.sizes[d] - 1, *op);
    const int64_t last = sum_of(places.offsets[d], length, *op);
    if (places.offsets[d] < 0 || last >= around[d])
      refuse(*op, fmt::format("takes elements {} to {} of dimension {}, which has {}",
                              places.offsets[d], last, d, around[d]));
  }
  return places;
}

template SlicePlaces read_places(mlir::tensor::ExtractSliceOp, const std::vector<int64_t>&,
                                 FunctionScope&);
template SlicePlaces read_places(mlir::tensor::InsertSliceOp, const std::vector<int64_t>&,
                                 FunctionScope&);

}  // namespace fuseflow
