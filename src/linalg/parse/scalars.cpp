// Operations on scalars: the bodies of linalg operations, and what a function computes between
// them (sizes, offsets, numbers).
#include <fmt/format.h>

#include <set>

#include "linalg/parse/scope.h"

namespace fuseflow {

namespace {

namespace sparse = mlir::sparse_tensor;

/// An operation has what its scalars are computed from as part of its body.
constexpr int64_t kMostCopies = 1000000;

/// Results of folding are wrapped, so that hostile numbers do not overflow.
int64_t wrapped(uint64_t value) {
  return static_cast<int64_t>(value);
}

/// The integer of a signed type of so few bits with the same last bits.
int64_t cut_to(int64_t value, ElementType type) {
  if (type == ElementType::boolean) return value & 1;
  const int64_t bits = 8 * element_bytes(type);
  if (bits >= 64) return value;
  const uint64_t up = static_cast<uint64_t>(value) << (64 - bits);
  return static_cast<int64_t>(up) >> (64 - bits);
}

/// An integer of a signed type as the unsigned one with the same bits.
int64_t unsigned_of(int64_t value, ElementType type) {
  const int64_t bits = type == ElementType::boolean ? 1 : 8 * element_bytes(type);
  return bits >= 64 ? value : value & ((int64_t{1} << bits) - 1);
}

std::optional<int64_t> folded_cast(llvm::StringRef op, int64_t x, ElementType from,
                                   ElementType to) {
  if (op == "arith.extui" || op == "arith.index_castui") return unsigned_of(x, from);
  if (op == "arith.trunci") return cut_to(x, to);
  if (op == "arith.extsi" || op == "arith.index_cast")
    return from == ElementType::boolean ? -x : cut_to(x, to);
  return std::nullopt;
}

/// Arithmetic on known integers; nothing for other operations.
std::optional<int64_t> folded(llvm::StringRef op, llvm::ArrayRef<int64_t> x, ElementType from,
                              ElementType to) {
  if (x.size() == 1) return folded_cast(op, x[0], from, to);
  if (x.size() != 2) return std::nullopt;
  const auto a = static_cast<uint64_t>(x[0]);
  const auto b = static_cast<uint64_t>(x[1]);
  if (op == "arith.addi") return cut_to(wrapped(a + b), to);
  if (op == "arith.subi") return cut_to(wrapped(a - b), to);
  if (op == "arith.muli") return cut_to(wrapped(a * b), to);
  if (from == ElementType::boolean) return std::nullopt;
  if (op == "arith.maxsi") return std::max(x[0], x[1]);
  if (op == "arith.minsi") return std::min(x[0], x[1]);
  if (op == "arith.cmpi eq") return x[0] == x[1] ? 1 : 0;
  if (op == "arith.cmpi ne") return x[0] != x[1] ? 1 : 0;
  if (op == "arith.cmpi slt") return x[0] < x[1] ? 1 : 0;
  if (op == "arith.cmpi sle") return x[0] <= x[1] ? 1 : 0;
  if (op == "arith.cmpi sgt") return x[0] > x[1] ? 1 : 0;
  if (op == "arith.cmpi sge") return x[0] >= x[1] ? 1 : 0;
  if (op == "arith.cmpi ult") return a < b ? 1 : 0;
  if (op == "arith.cmpi ule") return a <= b ? 1 : 0;
  if (op == "arith.cmpi ugt") return a > b ? 1 : 0;
  if (op == "arith.cmpi uge") return a >= b ? 1 : 0;
  if (x[0] < 0 || x[1] <= 0) return std::nullopt;
  if (op == "arith.divsi" || op == "arith.divui" || op == "arith.floordivsi") return x[0] / x[1];
  if (op == "arith.ceildivsi" || op == "arith.ceildivui")
    return x[0] / x[1] + (x[0] % x[1] != 0 ? 1 : 0);
  if (op == "arith.remsi" || op == "arith.remui") return x[0] % x[1];
  return std::nullopt;
}

int32_t number(ScalarScope& scope, float value) {
  BodyNode node;
  node.constant = value;
  return scope.add(node);
}

/// An apply whose value may be a known integer.
int32_t apply_known(ScalarScope& scope, BodyNode node) {
  if (node.children.empty()) return scope.add(std::move(node));
  if (node.op == "arith.select") {
    const auto condition = scope.known(node.children[0]);
    if (condition) return node.children[*condition != 0 ? 1 : 2];
  }
  std::vector<int64_t> integers;
  for (const int32_t child : node.children) {
    const auto number = scope.known(child);
    if (!number) return scope.add(std::move(node));
    integers.push_back(*number);
  }
  const ElementType from = scope.nodes[static_cast<size_t>(node.children[0])].type;
  const auto value = folded(node.op, integers, from, node.type);
  if (!value) return scope.add(std::move(node));
  return scope.integer(*value, node.type);
}

/// An affine expression over scalars.
int32_t affine_node(mlir::AffineExpr expr, llvm::ArrayRef<int32_t> operands, unsigned dims,
                    ScalarScope& scope) {
  if (const auto c = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return scope.integer(c.getValue());
  if (const auto d = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) return operands[d.getPosition()];
  if (const auto s = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return operands[dims + s.getPosition()];
  const auto both = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  const int32_t a = affine_node(both.getLHS(), operands, dims, scope);
  const int32_t b = affine_node(both.getRHS(), operands, dims, scope);
  const char* op = "arith.addi";
  if (expr.getKind() == mlir::AffineExprKind::Mul) op = "arith.muli";
  if (expr.getKind() == mlir::AffineExprKind::FloorDiv) op = "arith.floordivsi";
  if (expr.getKind() == mlir::AffineExprKind::CeilDiv) op = "arith.ceildivsi";
  if (expr.getKind() == mlir::AffineExprKind::Mod) op = "arith.remsi";
  return apply_known(scope, applied(op, {a, b}, ElementType::i64));
}

/// What a region of one block gives for these arguments.
int32_t inlined(mlir::Region& region, llvm::ArrayRef<int32_t> arguments, ScalarScope& scope,
                const FunctionScope& around, mlir::Operation& op) {
  if (!region.hasOneBlock()) refuse(op, "a region of several blocks has no meaning here");
  mlir::Block& block = region.front();
  for (const mlir::BlockArgument argument : block.getArguments())
    scope.at[argument] = arguments[argument.getArgNumber()];
  read_scalars(block, scope, around);
  mlir::Operation* end = block.getTerminator();
  if (end->getNumOperands() != 1) refuse(op, "a region that yields nothing has no meaning here");
  return scalar(end->getOperand(0), scope, *end);
}

/// Whether an element is there: it is not 0.
int32_t present(ScalarScope& scope, int32_t x) {
  return scope.add(applied("arith.cmpf une", {x, number(scope, 0)}, ElementType::boolean));
}

int32_t either(ScalarScope& scope, int32_t condition, int32_t yes, int32_t no, ElementType type) {
  return scope.add(applied("arith.select", {condition, yes, no}, type));
}

int32_t read_unary(sparse::UnaryOp op, ScalarScope& scope, const FunctionScope& around,
                   ElementType type) {
  const int32_t x = scalar(op.getX(), scope, *op);
  const auto side = [&](mlir::Region& region, llvm::ArrayRef<int32_t> arguments) {
    return region.empty() ? number(scope, 0) : inlined(region, arguments, scope, around, *op);
  };
  const int32_t there = side(op.getPresentRegion(), {x});
  const int32_t gone = side(op.getAbsentRegion(), {});
  return either(scope, present(scope, x), there, gone, type);
}

int32_t read_binary(sparse::BinaryOp op, ScalarScope& scope, const FunctionScope& around,
                    ElementType type) {
  const int32_t x = scalar(op.getX(), scope, *op);
  const int32_t y = scalar(op.getY(), scope, *op);
  const auto side = [&](mlir::Region& region, bool identity, llvm::ArrayRef<int32_t> arguments) {
    if (identity) return arguments[0];
    return region.empty() ? number(scope, 0) : inlined(region, arguments, scope, around, *op);
  };
  const int32_t overlap = side(op.getOverlapRegion(), false, {x, y});
  const int32_t left = side(op.getLeftRegion(), op.getLeftIdentity(), {x});
  const int32_t right = side(op.getRightRegion(), op.getRightIdentity(), {y});
  const int32_t with_x = either(scope, present(scope, y), overlap, left, type);
  const int32_t without = either(scope, present(scope, y), right, number(scope, 0), type);
  return either(scope, present(scope, x), with_x, without, type);
}

int32_t read_select(sparse::SelectOp op, ScalarScope& scope, const FunctionScope& around,
                    ElementType type) {
  const int32_t x = scalar(op.getX(), scope, *op);
  const int32_t kept = inlined(op.getRegion(), {x}, scope, around, *op);
  return either(scope, kept, x, number(scope, 0), type);
}

/// Whether a value is a result so far of the linalg operation around `op`.
bool is_result_so_far(mlir::Value value, mlir::Operation& op) {
  const auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  auto around = llvm::dyn_cast<mlir::linalg::LinalgOp>(op.getParentOp());
  return argument && around && argument.getOwner() == op.getBlock() &&
         static_cast<int64_t>(argument.getArgNumber()) >= around.getNumDpsInputs();
}

/// A reduction of what is there: an absent element is the identity.
int32_t read_reduce(sparse::ReduceOp op, ScalarScope& scope, const FunctionScope& around,
                    ElementType type) {
  const int32_t x = scalar(op.getX(), scope, *op);
  const int32_t y = scalar(op.getY(), scope, *op);
  const int32_t identity = scalar(op.getIdentity(), scope, *op);
  if (!op->hasOneUse() || !llvm::isa<mlir::linalg::YieldOp>(*op->user_begin()))
    refuse(*op, "expected that the body yields what it gives, and nothing else reads that");
  const bool left = is_result_so_far(op.getX(), *op);
  if (!left && !is_result_so_far(op.getY(), *op))
    refuse(*op, "expected the result so far (an argument of the body for an out) as an operand");
  const int32_t element = left ? y : x;
  const int32_t taken = either(scope, present(scope, element), element, identity, type);
  scope.nodes[static_cast<size_t>(taken)].skips = true;
  const std::vector<int32_t> arguments =
      left ? std::vector<int32_t>{x, taken} : std::vector<int32_t>{taken, y};
  return inlined(op.getRegion(), arguments, scope, around, *op);
}

int32_t read_constant(mlir::arith::ConstantOp op, ScalarScope& scope) {
  BodyNode node;
  node.type = element_type(op.getType(), *op);
  if (const auto real = llvm::dyn_cast<mlir::FloatAttr>(op.getValue())) {
    node.constant = static_cast<float>(real.getValueAsDouble());
    return scope.add(node);
  }
  const auto integer = llvm::dyn_cast<mlir::IntegerAttr>(op.getValue());
  if (!integer) refuse(*op, "expected a number or elements of a tensor");
  const bool flag = op.getType().isInteger(1);
  const int64_t value = flag ? static_cast<int64_t>(integer.getValue().getZExtValue())
                             : integer.getValue().getSExtValue();
  return scope.integer(value, node.type);
}

int32_t read_extract(mlir::tensor::ExtractOp op, ScalarScope& scope, const FunctionScope& around) {
  BodyNode node;
  node.kind = BodyNode::Kind::element;
  node.value = around.tensor(op.getTensor(), *op);
  node.type = element_type(op.getType(), *op);
  for (const mlir::Value index : op.getIndices())
    node.children.push_back(scalar(index, scope, *op));
  return scope.add(std::move(node));
}

int32_t read_dim(mlir::tensor::DimOp op, ScalarScope& scope, const FunctionScope& around) {
  const auto& shape =
      around.function.values[static_cast<size_t>(around.tensor(op.getSource(), *op))].shape;
  const auto dim = scope.known(scalar(op.getIndex(), scope, *op));
  if (!dim || *dim < 0 || *dim >= static_cast<int64_t>(shape.size()))
    refuse(*op, "expected the number of a dimension that the tensor has");
  return scope.integer(shape[static_cast<size_t>(*dim)]);
}

int32_t read_if(mlir::scf::IfOp op, ScalarScope& scope, const FunctionScope& around,
                ElementType type) {
  const int32_t condition = scalar(op.getCondition(), scope, *op);
  const int32_t yes = inlined(op.getThenRegion(), {}, scope, around, *op);
  const int32_t no = inlined(op.getElseRegion(), {}, scope, around, *op);
  return either(scope, condition, yes, no, type);
}

/// The operation's name, a comparison's with its predicate.
std::string full_name(mlir::Operation& op) {
  std::string name = name_of(op);
  if (auto real = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    name += " " + mlir::arith::stringifyCmpFPredicate(real.getPredicate()).str();
  if (auto integer = llvm::dyn_cast<mlir::arith::CmpIOp>(op))
    name += " " + mlir::arith::stringifyCmpIPredicate(integer.getPredicate()).str();
  return name;
}

int32_t read_apply(mlir::Operation& op, ScalarScope& scope, ElementType type) {
  const llvm::StringRef dialect = op.getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math") || op.getNumRegions() != 0)
    refuse(op, "has no meaning for scalars here, expected operations of arith and math");
  if (auto rounds = llvm::dyn_cast<mlir::arith::TruncFOp>(op)) {
    const auto mode = rounds.getRoundingmode();
    if (mode && *mode != mlir::arith::RoundingMode::to_nearest_even)
      refuse(op, "rounds in another way than to the nearest number, expected to_nearest_even");
  }
  std::vector<int32_t> children;
  for (const mlir::Value operand : op.getOperands()) children.push_back(scalar(operand, scope, op));
  return apply_known(scope, applied(full_name(op), std::move(children), type));
}

/// The results of a map of the operands, combined by `combine`.
int32_t read_affine(mlir::Operation& op, mlir::AffineMap map, const std::string& combine,
                    ScalarScope& scope) {
  std::vector<int32_t> operands;
  for (const mlir::Value v : op.getOperands()) operands.push_back(scalar(v, scope, op));
  int32_t value = -1;
  for (const mlir::AffineExpr expr : map.getResults()) {
    const int32_t one = affine_node(expr, operands, map.getNumDims(), scope);
    value = value < 0 ? one : apply_known(scope, applied(combine, {value, one}, ElementType::i64));
  }
  return value;
}

int32_t read_one(mlir::Operation& op, ScalarScope& scope, const FunctionScope& around) {
  if (auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(op))
    return read_constant(constant, scope);
  if (auto extract = llvm::dyn_cast<mlir::tensor::ExtractOp>(op))
    return read_extract(extract, scope, around);
  if (auto dim = llvm::dyn_cast<mlir::tensor::DimOp>(op)) return read_dim(dim, scope, around);
  if (auto apply = llvm::dyn_cast<mlir::affine::AffineApplyOp>(op))
    return read_affine(op, apply.getAffineMap(), "", scope);
  if (auto least = llvm::dyn_cast<mlir::affine::AffineMinOp>(op))
    return read_affine(op, least.getMap(), "arith.minsi", scope);
  if (auto largest = llvm::dyn_cast<mlir::affine::AffineMaxOp>(op))
    return read_affine(op, largest.getMap(), "arith.maxsi", scope);
  if (auto index = llvm::dyn_cast<mlir::linalg::IndexOp>(op)) {
    BodyNode node;
    node.kind = BodyNode::Kind::index;
    node.loop = static_cast<int32_t>(index.getDim());
    node.type = ElementType::i64;
    return scope.add(node);
  }
  if (!llvm::isa_and_present<mlir::arith::ArithDialect, mlir::math::MathDialect,
                             sparse::SparseTensorDialect, mlir::scf::SCFDialect>(op.getDialect()))
    refuse(op, "has no meaning for scalars here, expected operations of arith and math");
  const ElementType type = element_type(mlir::getElementTypeOrSelf(op.getResult(0)), op);
  if (auto unary = llvm::dyn_cast<sparse::UnaryOp>(op))
    return read_unary(unary, scope, around, type);
  if (auto binary = llvm::dyn_cast<sparse::BinaryOp>(op))
    return read_binary(binary, scope, around, type);
  if (auto select = llvm::dyn_cast<sparse::SelectOp>(op))
    return read_select(select, scope, around, type);
  if (auto reduce = llvm::dyn_cast<sparse::ReduceOp>(op))
    return read_reduce(reduce, scope, around, type);
  if (auto choice = llvm::dyn_cast<mlir::scf::IfOp>(op))
    return read_if(choice, scope, around, type);
  return read_apply(op, scope, type);
}

}  // namespace

BodyNode applied(std::string op, std::vector<int32_t> children, ElementType type) {
  BodyNode node;
  node.kind = BodyNode::Kind::apply;
  node.op = std::move(op);
  node.children = std::move(children);
  node.type = type;
  return node;
}

int32_t elementwise_node(mlir::Operation& op, ScalarScope& scope) {
  return read_apply(op, scope, element_type(mlir::getElementTypeOrSelf(op.getResult(0)), op));
}

int32_t ScalarScope::add(BodyNode node) {
  nodes.push_back(std::move(node));
  return static_cast<int32_t>(nodes.size()) - 1;
}

int32_t ScalarScope::integer(int64_t value, ElementType type) {
  BodyNode node;
  node.constant = static_cast<float>(value);
  node.integer = value;
  node.type = type;
  return add(node);
}

int32_t outer_scalar(int32_t node, ScalarScope& scope) {
  // Children come before their parents: the nodes are copied in order.
  std::set<int32_t> missing;
  std::vector<int32_t> stack{node};
  while (!stack.empty()) {
    const int32_t at = stack.back();
    stack.pop_back();
    if (scope.copied.contains(at) || !missing.insert(at).second) continue;
    for (const int32_t child : scope.outer->nodes[static_cast<size_t>(at)].children)
      stack.push_back(child);
  }
  scope.outer->copies += static_cast<int64_t>(missing.size());
  for (const int32_t at : missing) {
    BodyNode copy = scope.outer->nodes[static_cast<size_t>(at)];
    for (int32_t& child : copy.children) child = scope.copied.at(child);
    scope.copied[at] = scope.add(std::move(copy));
  }
  return scope.copied.at(node);
}

LinalgId FunctionScope::tensor(mlir::Value value, mlir::Operation& user) const {
  const auto found = tensors.find(value);
  if (found == tensors.end())
    refuse(user,
           "an operand that is no tensor of a known operation (buffers, memrefs and vectors "
           "have no meaning here; run before bufferization)");
  return found->second;
}

int32_t scalar(mlir::Value value, ScalarScope& scope, mlir::Operation& user) {
  const auto found = scope.at.find(value);
  if (found != scope.at.end()) return found->second;
  if (scope.outer != nullptr) {
    const auto around = scope.outer->at.find(value);
    if (scope.outer->copies > kMostCopies)
      refuse(user, fmt::format("the operations of the function need more than {} operations on "
                               "scalars of the function, each its own; expected scalars that take "
                               "less to compute, or tensors of them",
                               kMostCopies));
    if (around != scope.outer->at.end()) return outer_scalar(around->second, scope);
  }
  refuse(user, "an operand that is no scalar of a known operation");
}

void read_scalar(mlir::Operation& op, ScalarScope& scope, const FunctionScope& around) {
  if (op.getNumResults() == 0) return;
  if (op.getNumResults() != 1) refuse(op, "gives several scalars, expected one");
  scope.at[op.getResult(0)] = read_one(op, scope, around);
}

void read_scalars(mlir::Block& block, ScalarScope& scope, const FunctionScope& around) {
  for (mlir::Operation& op : block.without_terminator()) read_scalar(op, scope, around);
}

int64_t known_integer(mlir::OpFoldResult value, FunctionScope& scope, mlir::Operation& user) {
  if (const auto attribute = llvm::dyn_cast_if_present<mlir::Attribute>(value))
    return llvm::cast<mlir::IntegerAttr>(attribute).getInt();
  const int32_t node = scalar(llvm::cast<mlir::Value>(value), scope.scalars, user);
  const auto known = scope.scalars.known(node);
  if (!known)
    refuse(user, "a size or an offset that data decide, expected one that is known without them");
  return *known;
}

}  // namespace fuseflow
