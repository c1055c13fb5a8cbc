// Bodies made by hand, as linalg.generic would have them.
#include "linalg/parse/pointwise.h"

#include <fmt/format.h>

#include "linalg/parse/tensors.h"

namespace fuseflow {

namespace {

namespace tensor = mlir::tensor;

Subscript loop_plus(size_t loop, int64_t factor, int64_t offset) {
  return Subscript{{{static_cast<IndexId>(loop), factor}}, offset};
}

std::vector<Subscript> every_loop(size_t rank) {
  std::vector<Subscript> map;
  for (size_t d = 0; d < rank; ++d) map.push_back(loop_plus(d, 1, 0));
  return map;
}

/// A structured operation whose body is made node by node.
class Elements {
 public:
  explicit Elements(FunctionScope& scope) : scope_(scope) { body.outer = &scope.scalars; }

  int32_t apply(std::string op, std::vector<int32_t> children, ElementType type) {
    return body.add(applied(std::move(op), std::move(children), type));
  }
  int32_t place(size_t dim) {
    BodyNode node;
    node.kind = BodyNode::Kind::index;
    node.loop = static_cast<int32_t>(dim);
    node.type = ElementType::i64;
    return body.add(node);
  }
  int32_t read(LinalgId id, std::vector<Subscript> map) {
    BodyNode node;
    node.kind = BodyNode::Kind::operand;
    node.operand = static_cast<int32_t>(made.inputs.size());
    node.type = scope_.function.values[static_cast<size_t>(id)].type;
    made.inputs.push_back({id, std::move(map)});
    return body.add(node);
  }
  /// `condition` and `also`; -1 holds everywhere.
  int32_t both(int32_t condition, int32_t also) {
    return condition < 0 ? also : apply("arith.andi", {condition, also}, ElementType::boolean);
  }
  int32_t compare(const char* relation, int32_t a, int32_t b) {
    return apply(fmt::format("arith.cmpi {}", relation), {a, b}, ElementType::boolean);
  }
  int32_t choose(int32_t condition, int32_t yes, int32_t no) {
    if (condition < 0) return yes;
    const ElementType type = body.nodes[static_cast<size_t>(yes)].type;
    return apply("arith.select", {condition, yes, no}, type);
  }
  /// The block's arguments are the places.
  int32_t yielded(mlir::Block& block) {
    for (const mlir::BlockArgument argument : block.getArguments())
      body.at[argument] = place(argument.getArgNumber());
    read_scalars(block, body, scope_);
    mlir::Operation* end = block.getTerminator();
    return scalar(end->getOperand(0), body, *end);
  }
  /// An operation with a result of this type and a loop for each of its dimensions.
  LinalgOp done(mlir::Operation& op, mlir::Type type, std::vector<int64_t> shape, int32_t yield) {
    made.loops = shape;
    made.results = {new_value(type, std::move(shape), op, scope_)};
    return with_body(yield);
  }
  LinalgOp with_body(int32_t yield) {
    made.reduces.assign(made.loops.size(), false);
    made.body = std::move(body.nodes);
    made.yields = {yield};
    return std::move(made);
  }

  LinalgOp made;
  ScalarScope body;

 private:
  FunctionScope& scope_;
};

LinalgOp read_generate(tensor::GenerateOp op, FunctionScope& scope) {
  Elements elements(scope);
  const int32_t yield = elements.yielded(op.getBody().front());
  const auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return elements.done(*op, type, sizes_of(type, op.getDynamicExtents(), scope, *op), yield);
}

LinalgOp read_splat(tensor::SplatOp op, FunctionScope& scope) {
  Elements elements(scope);
  const int32_t yield = scalar(op.getInput(), elements.body, *op);
  const auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return elements.done(*op, type, sizes_of(type, op.getDynamicSizes(), scope, *op), yield);
}

/// Elements one by one: the number of the place chooses.
LinalgOp read_elements(tensor::FromElementsOp op, FunctionScope& scope) {
  const std::vector<int64_t> shape = static_shape(op.getType(), *op);
  const auto given = op.getElements();
  if (given.size() > 64) refuse(*op, "expected at most 64 elements");
  Elements elements(scope);
  ScalarScope& body = elements.body;
  int32_t place = body.integer(0);
  for (size_t d = 0; d < shape.size(); ++d) {
    const int32_t scaled =
        elements.apply("arith.muli", {place, body.integer(shape[d])}, ElementType::i64);
    place = elements.apply("arith.addi", {scaled, elements.place(d)}, ElementType::i64);
  }
  int32_t value = scalar(given.back(), body, *op);
  for (size_t e = given.size() - 1; e-- > 0;) {
    const int32_t here = elements.compare("eq", place, body.integer(static_cast<int64_t>(e)));
    value = elements.choose(here, scalar(given[e], body, *op), value);
  }
  return elements.done(*op, op.getType(), shape, value);
}

/// The tensor from its first place on; what the body yields around it.
LinalgOp read_pad(tensor::PadOp op, FunctionScope& scope) {
  const LinalgId source = scope.tensor(op.getSource(), *op);
  const std::vector<int64_t> inner = shape_of(source, scope);
  const std::vector<int64_t> low = known_integers(op.getMixedLowPad(), scope, *op);
  const std::vector<int64_t> high = known_integers(op.getMixedHighPad(), scope, *op);
  Elements elements(scope);
  std::vector<int64_t> shape;
  std::vector<Subscript> map;
  int32_t inside = -1;
  for (size_t d = 0; d < inner.size(); ++d) {
    if (low[d] < 0 || high[d] < 0) refuse(*op, "expected sizes of at least 0");
    const int64_t end = sum_of(inner[d], low[d], *op);
    shape.push_back(sum_of(end, high[d], *op));
    map.push_back(loop_plus(d, 1, -low[d]));
    const auto number = [&](int64_t n) { return elements.body.integer(n); };
    if (low[d] > 0)
      inside = elements.both(inside, elements.compare("sge", elements.place(d), number(low[d])));
    if (high[d] > 0)
      inside = elements.both(inside, elements.compare("slt", elements.place(d), number(end)));
  }
  const int32_t value = elements.read(source, std::move(map));
  const int32_t around = elements.yielded(op.getRegion().front());
  return elements.done(*op, op.getType(), std::move(shape), elements.choose(inside, value, around));
}

/// One element at a place that may be data.
LinalgOp read_insert_element(tensor::InsertOp op, FunctionScope& scope) {
  const LinalgId dest = scope.tensor(op.getDest(), *op);
  const std::vector<int64_t> shape = shape_of(dest, scope);
  Elements elements(scope);
  int32_t here = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int32_t at = scalar(op.getIndices()[static_cast<unsigned>(d)], elements.body, *op);
    here = elements.both(here, elements.compare("eq", elements.place(d), at));
  }
  const int32_t element = scalar(op.getScalar(), elements.body, *op);
  const int32_t old = elements.read(dest, every_loop(shape.size()));
  return elements.done(*op, op.getType(), shape, elements.choose(here, element, old));
}

/// Each element goes to its place in the larger tensor, whose others stay.
LinalgOp read_insert_slice(tensor::InsertSliceOp op, FunctionScope& scope) {
  const LinalgId source = scope.tensor(op.getSource(), *op);
  const LinalgId dest = scope.tensor(op.getDest(), *op);
  const std::vector<int64_t> around = shape_of(dest, scope);
  const SlicePlaces places = read_places(op, around, scope);
  if (places.kept_sizes() != shape_of(source, scope))
    refuse(*op, "its sizes are not the extents of the tensor that is put in");
  Elements elements(scope);
  std::vector<Subscript> from;
  std::vector<Subscript> to;
  for (size_t d = 0; d < around.size(); ++d) {
    to.push_back(loop_plus(d, places.strides[d], places.offsets[d]));
    if (!places.dropped[d]) from.push_back(loop_plus(d, 1, 0));
  }
  const int32_t value = elements.read(source, std::move(from));
  elements.made.outs.push_back({dest, std::move(to)});
  elements.made.loops = places.sizes;
  elements.made.results = {new_value(op.getType(), around, *op, scope)};
  return elements.with_body(value);
}

bool is_elementwise(mlir::Operation& op) {
  const llvm::StringRef dialect = op.getName().getDialectNamespace();
  return (dialect == "arith" || dialect == "math") && op.getNumResults() == 1 &&
         op.getNumRegions() == 0 && op.getNumOperands() > 0;
}

/// An operation of arith or math on whole tensors.
LinalgOp read_elementwise(mlir::Operation& op, FunctionScope& scope) {
  Elements elements(scope);
  std::vector<int64_t> shape;
  for (const mlir::Value operand : op.getOperands()) {
    if (!llvm::isa<mlir::ShapedType>(operand.getType())) continue;
    const LinalgId id = scope.tensor(operand, op);
    if (!elements.made.inputs.empty() && shape_of(id, scope) != shape)
      refuse(op, "its operands have different extents");
    shape = shape_of(id, scope);
    elements.body.at[operand] = elements.read(id, every_loop(shape.size()));
  }
  const int32_t value = elementwise_node(op, elements.body);
  return elements.done(op, op.getResult(0).getType(), std::move(shape), value);
}

}  // namespace

std::optional<LinalgOp> read_pointwise(mlir::Operation& op, FunctionScope& scope) {
  if (auto pad = llvm::dyn_cast<tensor::PadOp>(op)) return read_pad(pad, scope);
  if (auto generate = llvm::dyn_cast<tensor::GenerateOp>(op)) return read_generate(generate, scope);
  if (auto splat = llvm::dyn_cast<tensor::SplatOp>(op)) return read_splat(splat, scope);
  if (auto elements = llvm::dyn_cast<tensor::FromElementsOp>(op))
    return read_elements(elements, scope);
  if (auto element = llvm::dyn_cast<tensor::InsertOp>(op))
    return read_insert_element(element, scope);
  if (auto insert = llvm::dyn_cast<tensor::InsertSliceOp>(op))
    return read_insert_slice(insert, scope);
  if (is_elementwise(op)) return read_elementwise(op, scope);
  return std::nullopt;
}

LinalgOp read_choice(mlir::Operation& op, mlir::Type type, int32_t condition, mlir::Value yes,
                     mlir::Value no, FunctionScope& scope) {
  Elements elements(scope);
  const int32_t test = outer_scalar(condition, elements.body);
  std::vector<int64_t> shape;
  std::vector<int32_t> sides;
  for (const mlir::Value side : {yes, no}) {
    const LinalgId id = scope.tensor(side, op);
    if (!sides.empty() && shape_of(id, scope) != shape)
      refuse(op, "its sides give tensors of different extents");
    shape = shape_of(id, scope);
    sides.push_back(elements.read(id, every_loop(shape.size())));
  }
  return elements.done(op, type, std::move(shape), elements.choose(test, sides[0], sides[1]));
}

}  // namespace fuseflow
