// Elements of every kind of attribute as numbers.
#include "linalg/parse/constant_data.h"

#include <mlir/IR/DialectResourceBlobManager.h>

#include "linalg/parse/tensors.h"

namespace fuseflow {

namespace {

/// Truth values and ui types are never below 0; all others have a sign.
int64_t integer_of(const mlir::APInt& value, ElementType type) {
  const bool no_sign =
      type == ElementType::boolean || type == ElementType::u8 || type == ElementType::u16;
  return no_sign ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue();
}

/// The entries of sparse<[[0, 1], ..], [1.0, ..]>; equal places add up.
ConstantPtr sparse_data(mlir::SparseElementsAttr elements, const std::vector<int64_t>& shape,
                        ElementType type) {
  std::vector<std::pair<int64_t, float>> entries;
  const auto indices = elements.getIndices().getValues<uint64_t>();
  auto next = indices.begin();
  const auto add = [&](float value) {
    int64_t position = 0;
    for (const int64_t extent : shape) position = position * extent + static_cast<int64_t>(*next++);
    entries.emplace_back(position, value);
  };
  const mlir::DenseElementsAttr values = elements.getValues();
  if (is_integer(type)) {
    for (const mlir::APInt& value : values.getValues<mlir::APInt>())
      add(static_cast<float>(integer_of(value, type)));
  } else {
    for (const mlir::APFloat& value : values.getValues<mlir::APFloat>())
      add(static_cast<float>(value.convertToDouble()));
  }
  return constant_sparse(std::move(entries), shape, type);
}

/// What a resource's bytes are elements of; null where the file leaves them out.
mlir::ElementsAttr resource_elements(mlir::DenseResourceElementsAttr resource,
                                     mlir::Operation& op) {
  mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
  if (blob == nullptr) return nullptr;
  const mlir::ShapedType type = resource.getShapedType();
  bool splat = false;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(type, blob->getData(), splat))
    refuse(op, "the resource's bytes are not those of a tensor of this type");
  return mlir::DenseElementsAttr::getFromRawBuffer(type, blob->getData());
}

ConstantPtr constant_data(mlir::ElementsAttr elements, mlir::Operation& op) {
  const ElementType type = element_type(elements.getElementType(), op);
  const std::vector<int64_t> shape = elements.getShapedType().getShape().vec();
  if (auto entries = llvm::dyn_cast<mlir::SparseElementsAttr>(elements))
    return sparse_data(entries, shape, type);
  const auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(elements);
  if (!dense) refuse(op, "elements that are neither dense, sparse nor a resource");
  if (is_integer(type)) {
    std::vector<int64_t> integers;
    for (const mlir::APInt& value : dense.getValues<mlir::APInt>())
      integers.push_back(integer_of(value, type));
    return constant_ints(std::move(integers), shape, type);
  }
  std::vector<float> floats;
  for (const mlir::APFloat& value : dense.getValues<mlir::APFloat>())
    floats.push_back(static_cast<float>(value.convertToDouble()));
  return constant_floats(Buffer<float>(std::move(floats)), shape, type);
}

}  // namespace

LinalgOp read_constant_tensor(mlir::arith::ConstantOp op, FunctionScope& scope) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(op.getValue());
  if (!elements) refuse(*op, "expected the elements of a tensor");
  LinalgOp made;
  made.results = {new_value(op.getType(), static_shape(op.getType(), *op), *op, scope)};
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(elements))
    elements = resource_elements(resource, *op);
  const auto splat = llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(elements);
  if (!splat) {
    made.kind = LinalgOp::Kind::constant;
    if (elements) made.data = constant_data(elements, *op);
    return made;
  }
  // One number everywhere: computed, not stored.
  const LinalgValue& value = scope.function.values[static_cast<size_t>(made.results[0])];
  BodyNode number;
  number.type = value.type;
  if (is_integer(value.type)) {
    number.integer = integer_of(splat.getSplatValue<mlir::APInt>(), value.type);
    number.constant = static_cast<float>(*number.integer);
  } else {
    number.constant = static_cast<float>(splat.getSplatValue<mlir::APFloat>().convertToDouble());
  }
  made.body = {number};
  made.yields = {0};
  made.loops = value.shape;
  made.reduces.assign(value.shape.size(), false);
  return made;
}

}  // namespace fuseflow
