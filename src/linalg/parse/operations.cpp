// Operations on tensors: those of linalg by their maps and bodies, those of tensor one by one.
#include "linalg/parse/operations.h"

#include <fmt/format.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>

#include "linalg/parse/constant_data.h"
#include "linalg/parse/pointwise.h"
#include "linalg/parse/tensors.h"
#include "linalg/place_range.h"

namespace fuseflow {

namespace {

namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;
namespace sparse = mlir::sparse_tensor;

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
    s.offset = product_of(a.offset, b.offset, op);
    for (const auto& [loop, c] : a.terms) s.terms.emplace_back(loop, product_of(c, b.offset, op));
  } else {
    s = a;
    s.offset = sum_of(a.offset, b.offset, op);
    for (const auto& term : b.terms) {
      const auto found = std::find_if(s.terms.begin(), s.terms.end(),
                                      [&](const auto& t) { return t.first == term.first; });
      if (found == s.terms.end())
        s.terms.push_back(term);
      else
        found->second = sum_of(found->second, term.second, op);
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
      shape.back() = product_of(shape.back(), from[static_cast<size_t>(d)], *op);
  }
  return shape;
}

LinalgOp read_slice(tensor::ExtractSliceOp op, FunctionScope& scope) {
  LinalgOp made = of_input(LinalgOp::Kind::slice, op.getSource(), *op, scope);
  SlicePlaces places = read_places(op, shape_of(made.inputs[0].value, scope), scope);
  made.results = {new_value(op.getType(), places.kept_sizes(), *op, scope)};
  made.offsets = std::move(places.offsets);
  made.sizes = std::move(places.sizes);
  made.strides = std::move(places.strides);
  made.dropped = std::move(places.dropped);
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
    const int64_t together = sum_of(shape[along], other[along], op);
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
  if (auto sorted = llvm::dyn_cast<sparse::ReorderCOOOp>(op))
    return read_copy(sorted.getInputCoo(), op, scope);
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
  if (auto concat = llvm::dyn_cast<tensor::ConcatOp>(op))
    return read_concat(concat.getInputs(), static_cast<int64_t>(concat.getDim()), op, scope);
  if (auto concat = llvm::dyn_cast<sparse::ConcatenateOp>(op))
    return read_concat(concat.getInputs(), static_cast<int64_t>(concat.getDimension()), op, scope);
  if (auto pointwise = read_pointwise(op, scope)) return std::move(*pointwise);
  refuse_unknown(op);
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
