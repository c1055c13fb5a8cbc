// Operations on tensors: those of linalg by their maps and bodies, those of tensor one by one.
#include "linalg/parse/operations.h"

#include <fmt/format.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>
#include <mlir/IR/DialectResourceBlobManager.h>

#include "linalg/place_range.h"

namespace fuseflow {

namespace {

namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;
namespace sparse = mlir::sparse_tensor;

const std::vector<int64_t>& shape_of(LinalgId id, const FunctionScope& scope) {
  return scope.function.values[static_cast<size_t>(id)].shape;
}

[[noreturn]] void refuse_large(mlir::Operation& op) {
  refuse(op, "extents, offsets or coefficients that exceed 62 bits, expected smaller ones");
}

/// Sums and products of extents; refused where they exceed 62 bits.
int64_t within_range(bool overflow, int64_t value, mlir::Operation& op) {
  constexpr int64_t kLargest = int64_t{1} << 62;
  if (overflow || value > kLargest || value < -kLargest) refuse_large(op);
  return value;
}

int64_t sum(int64_t a, int64_t b, mlir::Operation& op) {
  int64_t value = 0;
  const bool overflow = __builtin_add_overflow(a, b, &value);
  return within_range(overflow, value, op);
}

int64_t product(int64_t a, int64_t b, mlir::Operation& op) {
  int64_t value = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &value);
  return within_range(overflow, value, op);
}

/// A new value of this type; `shape` has the extents that the type leaves open.
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
    count = product(count, shape[d], op);
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

/// An affine expression over loops as a subscript.
Subscript subscript_of(mlir::AffineExpr expr, mlir::Operation& op) {
  Subscript s;
  if (const auto c = llvm::dyn_cast<mlir::AffineConstantExpr>(expr)) {
    s.offset = c.getValue();
    return s;
  }
  if (const auto d = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) {
    s.terms.emplace_back(static_cast<IndexId>(d.getPosition()), 1);
    return s;
  }
  const auto both = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!both ||
      (expr.getKind() != mlir::AffineExprKind::Add && expr.getKind() != mlir::AffineExprKind::Mul))
    refuse(op,
           "an indexing map with floordiv, mod or symbols, expected sums of loops times "
           "numbers; cut the dimension with tensor.expand_shape first");
  const Subscript a = subscript_of(both.getLHS(), op);
  const Subscript b = subscript_of(both.getRHS(), op);
  if (expr.getKind() == mlir::AffineExprKind::Mul) {  // a constant stands on the right
    s.offset = product(a.offset, b.offset, op);
    for (const auto& [loop, c] : a.terms) s.terms.emplace_back(loop, product(c, b.offset, op));
  } else {
    s = a;
    s.offset = sum(a.offset, b.offset, op);
    for (const auto& term : b.terms) {
      const auto found = std::find_if(s.terms.begin(), s.terms.end(),
                                      [&](const auto& t) { return t.first == term.first; });
      if (found == s.terms.end())
        s.terms.push_back(term);
      else
        found->second = sum(found->second, term.second, op);
    }
  }
  std::erase_if(s.terms, [](const auto& t) { return t.second == 0; });
  return s;
}

void add_extents(const LinalgOperand& operand, const FunctionScope& scope, LinalgOp& made) {
  const auto& shape = shape_of(operand.value, scope);
  for (size_t d = 0; d < operand.map.size(); ++d) {
    if (!operand.map[d].is_plain()) continue;
    int64_t& extent = made.loops[static_cast<size_t>(operand.map[d].plain())];
    if (extent < 0) extent = shape[d];
  }
}

/// Loops stay within the operand; one that is a dimension walks over all of it.
void check_extents(const LinalgOperand& operand, const FunctionScope& scope, const LinalgOp& made,
                   mlir::Operation& op) {
  const auto& shape = shape_of(operand.value, scope);
  const auto& name = scope.function.values[static_cast<size_t>(operand.value)].name;
  for (size_t d = 0; d < operand.map.size(); ++d) {
    const Subscript& s = operand.map[d];
    if (s.is_plain() && made.loops[static_cast<size_t>(s.plain())] != shape[d])
      refuse(op,
             fmt::format("loop d{} has the extent {} by another operand, but dimension {} of "
                         "%{} has {}",
                         s.plain(), made.loops[static_cast<size_t>(s.plain())], d, name, shape[d]));
    const auto range = places_of(s, made.loops);
    if (!range) refuse_large(op);
    if (range->low < 0 || range->high >= shape[d])
      refuse(op, fmt::format("reads elements {} to {} of dimension {} of %{}, which has {}",
                             range->low, range->high, d, name, shape[d]));
  }
}

LinalgOp read_structured(linalg::LinalgOp op, FunctionScope& scope) {
  LinalgOp made;
  if (op.hasPureBufferSemantics())
    refuse(*op, "works on memrefs, expected tensors (run before bufferization)");
  const auto maps = op.getIndexingMapsArray();
  ScalarScope body;
  body.outer = &scope.scalars;
  mlir::Block& block = *op.getBlock();
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    const unsigned number = operand.getOperandNumber();
    const bool has_argument = number < block.getNumArguments();
    if (!llvm::isa<mlir::ShapedType>(operand.get().getType())) {
      const int32_t outside = scalar(operand.get(), scope.scalars, *op);
      scope.scalars.at[operand.get()] = outside;
      if (has_argument) body.at[block.getArgument(number)] = scalar(operand.get(), body, *op);
      continue;
    }
    LinalgOperand read;
    read.value = scope.tensor(operand.get(), *op);
    for (const mlir::AffineExpr expr : maps[number].getResults())
      read.map.push_back(subscript_of(expr, *op));
    const auto inputs = static_cast<int32_t>(made.inputs.size());
    const auto outs = static_cast<int32_t>(made.outs.size());
    const bool out = op.isDpsInit(&operand);
    if (has_argument) {
      BodyNode node;
      node.kind = BodyNode::Kind::operand;
      node.operand = inputs + outs;  // outs come after all inputs
      node.type = scope.function.values[static_cast<size_t>(read.value)].type;
      body.at[block.getArgument(number)] = body.add(node);
    }
    (out ? made.outs : made.inputs).push_back(std::move(read));
  }
  made.loops.assign(op.getNumLoops(), -1);
  for (const auto type : op.getIteratorTypesArray()) {
    if (type != mlir::utils::IteratorType::parallel && type != mlir::utils::IteratorType::reduction)
      refuse(*op, "an iterator that is neither parallel nor reduction");
    made.reduces.push_back(type == mlir::utils::IteratorType::reduction);
  }
  for (const LinalgOperand& operand : made.inputs) add_extents(operand, scope, made);
  for (const LinalgOperand& operand : made.outs) add_extents(operand, scope, made);
  for (const int64_t extent : made.loops) {
    if (extent < 0)
      refuse(*op,
             "the extent of a loop is not known, expected an operand that has "
             "it as a dimension");
  }
  for (const LinalgOperand& operand : made.inputs) check_extents(operand, scope, made, *op);
  for (const LinalgOperand& operand : made.outs) check_extents(operand, scope, made, *op);
  read_scalars(block, body, scope);
  mlir::Operation* end = block.getTerminator();
  for (const mlir::Value value : end->getOperands())
    made.yields.push_back(scalar(value, body, *end));
  made.body = std::move(body.nodes);
  for (const mlir::OpResult result : op->getResults()) {
    const LinalgOperand& out = made.outs[result.getResultNumber()];
    made.results.push_back(new_value(result.getType(), shape_of(out.value, scope), *op, scope));
  }
  return made;
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
      add(static_cast<float>(value.getSExtValue()));
  } else {
    for (const mlir::APFloat& value : values.getValues<mlir::APFloat>())
      add(static_cast<float>(value.convertToDouble()));
  }
  return constant_sparse(std::move(entries), shape, type);
}

/// The values of a constant, or null where the file leaves them out.
ConstantPtr constant_data(mlir::ElementsAttr elements, mlir::Operation& op) {
  const ElementType type = element_type(elements.getElementType(), op);
  const std::vector<int64_t> shape = elements.getShapedType().getShape().vec();
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(elements)) {
    mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    if (blob == nullptr) return nullptr;
    bool splat = false;
    if (!mlir::DenseElementsAttr::isValidRawBuffer(elements.getShapedType(), blob->getData(),
                                                   splat))
      refuse(op, "the resource's bytes are not those of a tensor of this type");
    elements = mlir::DenseElementsAttr::getFromRawBuffer(elements.getShapedType(), blob->getData());
  }
  if (auto entries = llvm::dyn_cast<mlir::SparseElementsAttr>(elements))
    return sparse_data(entries, shape, type);
  const auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(elements);
  if (!dense) refuse(op, "elements that are neither dense, sparse nor a resource");
  if (is_integer(type)) {
    std::vector<int64_t> integers;
    const bool flag = type == ElementType::boolean || type == ElementType::u8;
    for (const mlir::APInt& value : dense.getValues<mlir::APInt>())
      integers.push_back(flag ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue());
    return constant_ints(std::move(integers), shape, type);
  }
  std::vector<float> floats;
  for (const mlir::APFloat& value : dense.getValues<mlir::APFloat>())
    floats.push_back(static_cast<float>(value.convertToDouble()));
  return constant_floats(Buffer<float>(std::move(floats)), shape, type);
}

LinalgOp read_constant_tensor(mlir::arith::ConstantOp op, FunctionScope& scope) {
  const auto elements = llvm::dyn_cast<mlir::ElementsAttr>(op.getValue());
  if (!elements) refuse(*op, "expected the elements of a tensor");
  LinalgOp made;
  made.results = {new_value(op.getType(), static_shape(op.getType(), *op), *op, scope)};
  const auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(elements);
  if (!splat) {
    made.kind = LinalgOp::Kind::constant;
    made.data = constant_data(elements, *op);
    return made;
  }
  // One number everywhere: computed, not stored.
  const LinalgValue& value = scope.function.values[static_cast<size_t>(made.results[0])];
  BodyNode number;
  number.type = value.type;
  number.constant =
      is_integer(value.type)
          ? static_cast<float>(splat.getSplatValue<mlir::APInt>().getSExtValue())
          : static_cast<float>(splat.getSplatValue<mlir::APFloat>().convertToDouble());
  if (value.type == ElementType::boolean) number.constant = number.constant != 0 ? 1 : 0;
  made.body = {number};
  made.yields = {0};
  made.loops = value.shape;
  made.reduces.assign(value.shape.size(), false);
  return made;
}

/// An operation without operands that computes each element from its place.
LinalgOp read_pointwise(mlir::Type type, std::vector<int64_t> shape, ScalarScope body,
                        int32_t yield, mlir::Operation& op, FunctionScope& scope) {
  LinalgOp made;
  made.loops = shape;
  made.reduces.assign(shape.size(), false);
  made.results = {new_value(type, std::move(shape), op, scope)};
  made.body = std::move(body.nodes);
  made.yields = {yield};
  return made;
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

LinalgOp of_input(LinalgOp::Kind kind, mlir::Value input, mlir::Operation& op,
                  FunctionScope& scope) {
  LinalgOp made;
  made.kind = kind;
  made.inputs.push_back({scope.tensor(input, op), {}});
  return made;
}

LinalgOp read_copy(mlir::Value input, mlir::Operation& op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::copy, input, op, scope);
  made.results = {
      new_value(op.getResult(0).getType(), shape_of(made.inputs[0].value, scope), op, scope)};
  return made;
}

/// The extents after a reassociation; those that the type leaves open follow from the input's.
LinalgOp read_reshape(mlir::Value input, mlir::RankedTensorType type, std::vector<int64_t> shape,
                      mlir::Operation& op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::reshape, input, op, scope);
  made.results = {new_value(type, std::move(shape), op, scope)};
  return made;
}

std::vector<int64_t> collapsed_shape(tensor::CollapseShapeOp op, FunctionScope& scope) {
  const auto& from = shape_of(scope.tensor(op.getSrc(), *op), scope);
  std::vector<int64_t> shape;
  for (const auto& group : op.getReassociationIndices()) {
    shape.push_back(1);
    for (const int64_t d : group)
      shape.back() = product(shape.back(), from[static_cast<size_t>(d)], *op);
  }
  return shape;
}

/// Where the smaller tensor of a slice lies in the larger one, of shape `around`.
template <typename Slice>
void read_places(Slice op, const std::vector<int64_t>& around, FunctionScope& scope,
                 LinalgOp& made) {
  made.offsets = known_integers(op.getMixedOffsets(), scope, *op);
  made.sizes = known_integers(op.getMixedSizes(), scope, *op);
  made.strides = known_integers(op.getMixedStrides(), scope, *op);
  const auto dropped = op.getDroppedDims();
  for (size_t d = 0; d < made.sizes.size(); ++d) {
    made.dropped.push_back(dropped.test(static_cast<unsigned>(d)));
    if (made.strides[d] < 1) refuse(*op, "expected strides of at least 1");
    if (made.sizes[d] < 1) refuse(*op, "expected sizes of at least 1");
    const int64_t last =
        sum(made.offsets[d], product(made.strides[d], made.sizes[d] - 1, *op), *op);
    if (made.offsets[d] < 0 || last >= around[d])
      refuse(*op, fmt::format("takes elements {} to {} of dimension {}, which has {}",
                              made.offsets[d], last, d, around[d]));
  }
}

/// The extents of the smaller tensor.
std::vector<int64_t> kept_sizes(const LinalgOp& made) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < made.sizes.size(); ++d) {
    if (!made.dropped[d]) shape.push_back(made.sizes[d]);
  }
  return shape;
}

LinalgOp read_slice(tensor::ExtractSliceOp op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::slice, op.getSource(), *op, scope);
  read_places(op, shape_of(made.inputs[0].value, scope), scope, made);
  made.results = {new_value(op.getType(), kept_sizes(made), *op, scope)};
  return made;
}

LinalgOp read_insert(tensor::InsertSliceOp op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::insert, op.getSource(), *op, scope);
  made.inputs.push_back({scope.tensor(op.getDest(), *op), {}});
  read_places(op, shape_of(made.inputs[1].value, scope), scope, made);
  if (kept_sizes(made) != shape_of(made.inputs[0].value, scope))
    refuse(*op, "its sizes are not the extents of the tensor that is put in");
  made.results = {new_value(op.getType(), shape_of(made.inputs[1].value, scope), *op, scope)};
  return made;
}

LinalgOp read_concat(mlir::ValueRange inputs, int64_t dim, mlir::Operation& op,
                     FunctionScope& scope) {
  LinalgOp made;
  made.kind = LinalgOp::Kind::concat;
  made.dim = static_cast<int>(dim);
  for (const mlir::Value input : inputs) made.inputs.push_back({scope.tensor(input, op), {}});
  std::vector<int64_t> shape = shape_of(made.inputs[0].value, scope);
  const auto along = static_cast<size_t>(dim);
  for (size_t i = 1; i < made.inputs.size(); ++i) {
    std::vector<int64_t> other = shape_of(made.inputs[i].value, scope);
    const int64_t together = sum(shape[along], other[along], op);
    other[along] = shape[along];
    if (other != shape)
      refuse(op, fmt::format("operand {} has other extents than the first in a dimension that is "
                             "not {}",
                             i, dim));
    shape[along] = together;
  }
  made.results = {new_value(op.getResult(0).getType(), std::move(shape), op, scope)};
  return made;
}

LinalgOp read_pad(tensor::PadOp op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::pad, op.getSource(), *op, scope);
  made.offsets = known_integers(op.getMixedLowPad(), scope, *op);
  const std::vector<int64_t> high = known_integers(op.getMixedHighPad(), scope, *op);
  std::vector<int64_t> shape = shape_of(made.inputs[0].value, scope);
  made.sizes = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (made.offsets[d] < 0 || high[d] < 0) refuse(*op, "expected sizes of at least 0");
    shape[d] = sum(sum(shape[d], made.offsets[d], *op), high[d], *op);
  }
  made.strides.assign(shape.size(), 1);
  made.dropped.assign(shape.size(), false);
  ScalarScope body;
  body.outer = &scope.scalars;
  const mlir::Value value = op.getConstantPaddingValue();
  if (!value) refuse(*op, "expected one number around the tensor");
  if (auto constant = value.getDefiningOp<mlir::arith::ConstantOp>();
      constant && !scope.scalars.at.contains(value))
    read_scalar(*constant, scope.scalars, scope);
  made.yields = {scalar(value, body, *op)};
  made.body = std::move(body.nodes);
  made.results = {new_value(op.getType(), std::move(shape), *op, scope)};
  return made;
}

LinalgOp read_generate(tensor::GenerateOp op, FunctionScope& scope) {
  ScalarScope body;
  body.outer = &scope.scalars;
  mlir::Block& block = op.getBody().front();
  for (const mlir::BlockArgument argument : block.getArguments()) {
    BodyNode node;
    node.kind = BodyNode::Kind::index;
    node.loop = static_cast<int32_t>(argument.getArgNumber());
    node.type = ElementType::i64;
    body.at[argument] = body.add(node);
  }
  read_scalars(block, body, scope);
  mlir::Operation* end = block.getTerminator();
  const int32_t yield = scalar(end->getOperand(0), body, *end);
  const auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return read_pointwise(type, sizes_of(type, op.getDynamicExtents(), scope, *op), std::move(body),
                        yield, *op, scope);
}

LinalgOp read_splat(tensor::SplatOp op, FunctionScope& scope) {
  ScalarScope body;
  body.outer = &scope.scalars;
  const int32_t yield = scalar(op.getInput(), body, *op);
  const auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return read_pointwise(type, sizes_of(type, op.getDynamicSizes(), scope, *op), std::move(body),
                        yield, *op, scope);
}

/// Elements one by one: the number of the place chooses.
LinalgOp read_elements(tensor::FromElementsOp op, FunctionScope& scope) {
  const std::vector<int64_t> shape = static_shape(op.getType(), *op);
  if (op.getElements().size() > 64) refuse(*op, "expected at most 64 elements");
  ScalarScope body;
  body.outer = &scope.scalars;
  const auto apply = [&](const char* name, std::vector<int32_t> children) {
    BodyNode node;
    node.kind = BodyNode::Kind::apply;
    node.op = name;
    node.children = std::move(children);
    return body.add(std::move(node));
  };
  int32_t place = body.integer(0);
  for (size_t d = 0; d < shape.size(); ++d) {
    BodyNode index;
    index.kind = BodyNode::Kind::index;
    index.loop = static_cast<int32_t>(d);
    const int32_t scaled = apply("arith.muli", {place, body.integer(shape[d])});
    place = apply("arith.addi", {scaled, body.add(index)});
  }
  const auto elements = op.getElements();
  int32_t value = scalar(elements.back(), body, *op);
  for (size_t e = elements.size() - 1; e-- > 0;) {
    const int32_t here = apply("arith.cmpi eq", {place, body.integer(static_cast<int64_t>(e))});
    value = apply("arith.select", {here, scalar(elements[e], body, *op), value});
  }
  return read_pointwise(op.getType(), shape, std::move(body), value, *op, scope);
}

LinalgOp read_empty(mlir::RankedTensorType type, mlir::ValueRange dynamic, mlir::Operation& op,
                    FunctionScope& scope) {
  LinalgOp made;
  made.kind = LinalgOp::Kind::empty;
  made.results = {new_value(type, sizes_of(type, dynamic, scope, op), op, scope)};
  return made;
}

[[noreturn]] void refuse_unknown(mlir::Operation& op) {
  const llvm::StringRef dialect = op.getName().getDialectNamespace();
  std::string why =
      "has no meaning here, expected linalg on tensors, and the operations of tensor, arith and "
      "math, scf.for and scf.if around it";
  if (dialect == "sam" || dialect == "samml")
    why =
        "is an operation of FuseFlow's sam dialect, a dataflow graph; expected linalg on "
        "tensors. fuseflow-sam reads the graphs that FuseFlow's sam-translate writes of it";
  if (dialect == "memref" || dialect == "bufferization" || dialect == "vector")
    why =
        "works on buffers or vectors, expected tensors; take the file before bufferization and "
        "vectorization";
  if (dialect == "tosa" || dialect == "stablehlo" || dialect == "torch")
    why =
        "expected linalg on tensors; lower it first (mlir-opt --tosa-to-linalg-named "
        "--tosa-to-linalg --tosa-to-tensor, torch-mlir-opt, stablehlo-opt)";
  refuse(op, why);
}

}  // namespace

LinalgOp read_operation(mlir::Operation& op, FunctionScope& scope) {
  if (auto structured = llvm::dyn_cast<linalg::LinalgOp>(op))
    return read_structured(structured, scope);
  if (auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(op))
    return read_constant_tensor(constant, scope);
  if (auto empty = llvm::dyn_cast<tensor::EmptyOp>(op))
    return read_empty(empty.getType(), empty.getDynamicSizes(), op, scope);
  if (auto buffer = llvm::dyn_cast<mlir::bufferization::AllocTensorOp>(op)) {
    if (buffer.getCopy()) return read_copy(buffer.getCopy(), op, scope);
    return read_empty(llvm::cast<mlir::RankedTensorType>(buffer.getType()),
                      buffer.getDynamicSizes(), op, scope);
  }
  if (auto cast = llvm::dyn_cast<tensor::CastOp>(op)) return read_copy(cast.getSource(), op, scope);
  if (auto convert = llvm::dyn_cast<sparse::ConvertOp>(op))
    return read_copy(convert.getSource(), op, scope);
  if (auto load = llvm::dyn_cast<sparse::LoadOp>(op)) return read_copy(load.getTensor(), op, scope);
  if (auto expand = llvm::dyn_cast<tensor::ExpandShapeOp>(op))
    return read_reshape(expand.getSrc(), expand.getResultType(),
                        sizes_of(expand.getResultType(), expand.getOutputShape(), scope, op), op,
                        scope);
  if (auto collapse = llvm::dyn_cast<tensor::CollapseShapeOp>(op))
    return read_reshape(collapse.getSrc(), collapse.getResultType(),
                        collapsed_shape(collapse, scope), op, scope);
  if (auto reshape = llvm::dyn_cast<tensor::ReshapeOp>(op))
    return read_reshape(reshape.getSource(), llvm::cast<mlir::RankedTensorType>(reshape.getType()),
                        static_shape(reshape.getType(), op), op, scope);
  if (auto slice = llvm::dyn_cast<tensor::ExtractSliceOp>(op)) return read_slice(slice, scope);
  if (auto insert = llvm::dyn_cast<tensor::InsertSliceOp>(op)) return read_insert(insert, scope);
  if (auto concat = llvm::dyn_cast<tensor::ConcatOp>(op))
    return read_concat(concat.getInputs(), static_cast<int64_t>(concat.getDim()), op, scope);
  if (auto concat = llvm::dyn_cast<sparse::ConcatenateOp>(op))
    return read_concat(concat.getInputs(), static_cast<int64_t>(concat.getDimension()), op, scope);
  if (auto pad = llvm::dyn_cast<tensor::PadOp>(op)) return read_pad(pad, scope);
  if (auto generate = llvm::dyn_cast<tensor::GenerateOp>(op)) return read_generate(generate, scope);
  if (auto splat = llvm::dyn_cast<tensor::SplatOp>(op)) return read_splat(splat, scope);
  if (auto elements = llvm::dyn_cast<tensor::FromElementsOp>(op))
    return read_elements(elements, scope);
  refuse_unknown(op);
}

LinalgOp read_choice(mlir::Operation& op, mlir::Type type, int32_t condition, mlir::Value yes,
                     mlir::Value no, FunctionScope& scope) {
  LinalgOp made;
  ScalarScope body;
  body.outer = &scope.scalars;
  const int32_t test = outer_scalar(condition, body);
  std::vector<int32_t> sides;
  for (const mlir::Value side : {yes, no}) {
    LinalgOperand read{scope.tensor(side, op), {}};
    for (size_t d = 0; d < shape_of(read.value, scope).size(); ++d)
      read.map.push_back(Subscript{{{static_cast<IndexId>(d), 1}}, 0});
    BodyNode node;
    node.kind = BodyNode::Kind::operand;
    node.operand = static_cast<int32_t>(made.inputs.size());
    node.type = scope.function.values[static_cast<size_t>(read.value)].type;
    sides.push_back(body.add(node));
    made.inputs.push_back(std::move(read));
  }
  made.loops = shape_of(made.inputs[0].value, scope);
  if (made.loops != shape_of(made.inputs[1].value, scope))
    refuse(op, "its sides give tensors of different extents");
  made.reduces.assign(made.loops.size(), false);
  BodyNode chosen;
  chosen.kind = BodyNode::Kind::apply;
  chosen.op = "arith.select";
  chosen.type = body.nodes[static_cast<size_t>(sides[0])].type;
  chosen.children = {test, sides[0], sides[1]};
  made.yields = {body.add(std::move(chosen))};
  made.body = std::move(body.nodes);
  made.results = {new_value(type, made.loops, op, scope)};
  return made;
}

LinalgOp read_scalar_result(mlir::Value value, mlir::Operation& user, FunctionScope& scope) {
  LinalgOp made;
  ScalarScope body;
  body.outer = &scope.scalars;
  made.yields = {scalar(value, body, user)};
  made.body = std::move(body.nodes);
  LinalgValue result;
  result.type = element_type(value.getType(), user);
  made.results = {static_cast<LinalgId>(scope.function.values.size())};
  scope.function.values.push_back(std::move(result));
  return made;
}

}  // namespace fuseflow
