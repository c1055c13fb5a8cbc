// The walk: which operation of a function becomes which of ours.
#include "linalg/parse/walk.h"

#include <fmt/format.h>

#include "linalg/parse/operations.h"
#include "linalg/parse/pointwise.h"

namespace fuseflow {

namespace {

/// What calls, rounds of loops and the operations in them may unfold to.
constexpr int64_t kMostSteps = 200000;
constexpr int kDeepestCalls = 64;

class Walk {
 public:
  explicit Walk(const ValueNames& names) : names_(names) {}

  LinalgFunction run(mlir::func::FuncOp function, const std::vector<std::vector<int64_t>>& shapes);

 private:
  /// Reads a block; gives what its terminator names.
  mlir::Operation* block(mlir::Block& block);
  void operation(mlir::Operation& op);
  void call(mlir::func::CallOp op);
  /// The callee, wherever in the file it is; null if it is not.
  mlir::func::FuncOp function_called(mlir::func::CallOp op);
  void loop(mlir::scf::ForOp op);
  void choice(mlir::scf::IfOp op);
  /// The operations of one side of a choice; gives what it yields.
  std::vector<mlir::Value> side(mlir::Region& region);
  /// Refuses what would take too long to unfold.
  void count_step(mlir::Operation& op);
  void add(mlir::Operation& op, LinalgOp made);
  /// The results of a function that returns nothing: the tensors that nothing reads.
  void return_unused();
  bool is_shaped(mlir::Value value) const { return llvm::isa<mlir::ShapedType>(value.getType()); }
  /// `to` stand for what `from` are; the sources are read before any is replaced.
  void bind_all(mlir::ValueRange to, mlir::ValueRange from, mlir::Operation& op);

  const ValueNames& names_;
  FunctionScope scope_;
  llvm::StringMap<mlir::func::FuncOp> functions_;  ///< by name, once one is called
  std::string region_;                             ///< of the call that is being read
  int depth_ = 0;
  int calls_ = 0;
  int64_t steps_ = 0;
};

void Walk::bind_all(mlir::ValueRange to, mlir::ValueRange from, mlir::Operation& op) {
  std::vector<int32_t> ids;
  for (const mlir::Value value : from)
    ids.push_back(is_shaped(value) ? scope_.tensor(value, op) : scalar(value, scope_.scalars, op));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (is_shaped(to[i]))
      scope_.tensors[to[i]] = ids[i];
    else
      scope_.scalars.at[to[i]] = ids[i];
  }
}

mlir::func::FuncOp Walk::function_called(mlir::func::CallOp op) {
  if (functions_.empty()) {
    mlir::Block* top = op->getBlock();
    while (top->getParentOp() != nullptr) top = top->getParentOp()->getBlock();
    top->walk([&](mlir::func::FuncOp f) { functions_[f.getName()] = f; });
  }
  return functions_.lookup(op.getCallee());
}

void Walk::call(mlir::func::CallOp op) {
  mlir::func::FuncOp callee = function_called(op);
  if (!callee || callee.isExternal())
    refuse(*op, fmt::format("@{} has no body in this file", op.getCallee().str()));
  if (++depth_ > kDeepestCalls) refuse(*op, "calls are nested too deeply, or call themselves");
  if (!callee.getBody().hasOneBlock())
    refuse(*op,
           fmt::format("@{} has several blocks (control flow), expected operations on tensors, "
                       "scf.for and scf.if",
                       op.getCallee().str()));
  mlir::Block& body = callee.getBody().front();
  bind_all(body.getArguments(), op.getOperands(), *op);
  const bool outermost = region_.empty();
  if (outermost) {
    region_ = fmt::format("{}.{}", op.getCallee().str(), ++calls_);
    scope_.function.given_regions = true;
  }
  mlir::Operation* end = block(body);
  bind_all(op.getResults(), end->getOperands(), *op);
  if (outermost) region_.clear();
  --depth_;
}

void Walk::loop(mlir::scf::ForOp op) {
  const int64_t from = known_integer(op.getLowerBound(), scope_, *op);
  const int64_t to = known_integer(op.getUpperBound(), scope_, *op);
  const int64_t step = known_integer(op.getStep(), scope_, *op);
  if (step < 1) refuse(*op, "expected a step of at least 1");
  const uint64_t distance = to > from ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
  const uint64_t rounds = distance / static_cast<uint64_t>(step) +
                          (distance % static_cast<uint64_t>(step) != 0 ? 1 : 0);
  if (rounds > static_cast<uint64_t>(kMostSteps))
    refuse(*op, fmt::format("has {} rounds, expected at most {}: rounds are unrolled; write what "
                            "they do as loops of linalg.generic",
                            rounds, kMostSteps));
  bind_all(op.getRegionIterArgs(), op.getInitArgs(), *op);
  mlir::Block& body = *op.getBody();
  for (uint64_t round = 0; round < rounds; ++round) {
    count_step(*op);
    const auto i =
        static_cast<int64_t>(static_cast<uint64_t>(from) + round * static_cast<uint64_t>(step));
    scope_.scalars.at[op.getInductionVar()] = scope_.scalars.integer(i);
    mlir::Operation* end = block(body);
    bind_all(op.getRegionIterArgs(), end->getOperands(), *op);
  }
  bind_all(op.getResults(), op.getRegionIterArgs(), *op);
}

void Walk::count_step(mlir::Operation& op) {
  if (++steps_ > kMostSteps)
    refuse(op, fmt::format("calls and loops unfold to more than {} operations, expected fewer: "
                           "rounds and calls become operations of the program",
                           kMostSteps));
}

std::vector<mlir::Value> Walk::side(mlir::Region& region) {
  if (region.empty()) return {};
  mlir::Operation* end = block(region.front());
  return {end->operand_begin(), end->operand_end()};
}

/// A condition that is known takes one side. Of another both sides are computed, which have no
/// effects, and each element is chosen.
void Walk::choice(mlir::scf::IfOp op) {
  const int32_t condition = scalar(op.getCondition(), scope_.scalars, *op);
  if (const auto known = scope_.scalars.known(condition)) {
    const std::vector<mlir::Value> taken =
        side(*known != 0 ? op.getThenRegion() : op.getElseRegion());
    return bind_all(op.getResults(), taken, *op);
  }
  const std::vector<mlir::Value> yes = side(op.getThenRegion());
  const std::vector<mlir::Value> no = side(op.getElseRegion());
  for (const mlir::OpResult result : op.getResults()) {
    const size_t r = result.getResultNumber();
    if (is_shaped(result)) {
      add(*op, read_choice(*op, result.getType(), condition, yes[r], no[r], scope_));
      scope_.tensors[result] = scope_.function.ops.back().results[0];
      scope_.function.values.back().name = names_(result);
      continue;
    }
    BodyNode chosen;
    chosen.kind = BodyNode::Kind::apply;
    chosen.op = "arith.select";
    chosen.type = element_type(result.getType(), *op);
    chosen.children = {condition, scalar(yes[r], scope_.scalars, *op),
                       scalar(no[r], scope_.scalars, *op)};
    scope_.scalars.at[result] = scope_.scalars.add(std::move(chosen));
  }
}

void Walk::add(mlir::Operation& op, LinalgOp made) {
  made.name = name_of(op);
  made.where = place_of(op.getLoc());
  made.region = region_;
  if (const auto given = op.getAttrOfType<mlir::StringAttr>("fuseflow.region")) {
    made.region = given.getValue().str();
    scope_.function.given_regions = true;
  }
  scope_.function.ops.push_back(std::move(made));
}

void Walk::operation(mlir::Operation& op) {
  count_step(op);
  if (auto called = llvm::dyn_cast<mlir::func::CallOp>(op)) return call(called);
  if (auto repeated = llvm::dyn_cast<mlir::scf::ForOp>(op)) return loop(repeated);
  if (auto chosen = llvm::dyn_cast<mlir::scf::IfOp>(op)) return choice(chosen);
  const bool shaped =
      llvm::any_of(op.getResults(), [&](mlir::Value value) { return is_shaped(value); });
  if (!shaped) {
    if (op.getNumResults() == 0 && !mlir::isMemoryEffectFree(&op) &&
        op.getName().getDialectNamespace() != "cf")
      refuse(op, "has an effect and no result, expected operations on tensors");
    return read_scalar(op, scope_.scalars, scope_);
  }
  LinalgOp made = read_operation(op, scope_);
  for (const mlir::OpResult result : op.getResults()) {
    const LinalgId id = made.results[result.getResultNumber()];
    scope_.function.values[static_cast<size_t>(id)].name = names_(result);
    scope_.tensors[result] = id;
  }
  add(op, std::move(made));
}

mlir::Operation* Walk::block(mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) operation(op);
  return block.getTerminator();
}

LinalgFunction Walk::run(mlir::func::FuncOp function,
                         const std::vector<std::vector<int64_t>>& shapes) {
  if (!function.getBody().hasOneBlock())
    refuse(*function,
           "has several blocks (control flow), expected operations on tensors, scf.for and "
           "scf.if");
  scope_.function.name = function.getName().str();
  for (const mlir::BlockArgument argument : function.getArguments()) {
    LinalgOp made;
    made.kind = LinalgOp::Kind::argument;
    made.where = place_of(argument.getLoc());
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    const mlir::Type element = type ? type.getElementType() : argument.getType();
    LinalgValue value;
    value.name = names_(argument);
    value.type = element_type(element, *function);
    value.shape = shapes[argument.getArgNumber()];
    check_rank(value.shape.size(), *function);
    if (std::find(value.shape.begin(), value.shape.end(), 0) != value.shape.end())
      refuse(*function, fmt::format("argument %{} has no elements, expected extents of at least 1",
                                    value.name));
    if (type) value.format = format_of(type, *function);
    const auto id = static_cast<LinalgId>(scope_.function.values.size());
    if (type) {
      scope_.tensors[argument] = id;
    } else {
      BodyNode read;
      read.kind = BodyNode::Kind::element;
      read.value = id;
      read.type = value.type;
      scope_.scalars.at[argument] = scope_.scalars.add(read);
    }
    scope_.function.values.push_back(std::move(value));
    made.results = {id};
    scope_.function.arguments.push_back(id);
    scope_.function.ops.push_back(std::move(made));
  }
  mlir::Operation* end = block(function.getBody().front());
  for (const mlir::Value value : end->getOperands()) {
    if (is_shaped(value)) {
      scope_.function.returned.push_back(scope_.tensor(value, *end));
      continue;
    }
    LinalgOp made = read_scalar_result(value, *end, scope_);
    made.name = name_of(*end);
    made.where = place_of(end->getLoc());
    scope_.function.returned.push_back(made.results[0]);
    scope_.function.ops.push_back(std::move(made));
  }
  if (end->getNumOperands() == 0) return_unused();
  return std::move(scope_.function);
}

void Walk::return_unused() {
  LinalgFunction& f = scope_.function;
  std::vector<bool> used(f.values.size(), false);
  for (const LinalgOp& op : f.ops) {
    for (const auto* operands : {&op.inputs, &op.outs}) {
      for (const LinalgOperand& operand : *operands)
        used[static_cast<size_t>(operand.value)] = true;
    }
    for (const BodyNode& node : op.body) {
      if (node.kind == BodyNode::Kind::element) used[static_cast<size_t>(node.value)] = true;
    }
  }
  for (const LinalgOp& op : f.ops) {
    if (op.kind == LinalgOp::Kind::argument || op.kind == LinalgOp::Kind::constant) continue;
    for (const LinalgId id : op.results) {
      if (!used[static_cast<size_t>(id)]) f.returned.push_back(id);
    }
  }
  report(Severity::note, fmt::format("mlir: @{} returns nothing; its results are the {} tensors "
                                     "that nothing reads",
                                     f.name, f.returned.size()));
}

}  // namespace

LinalgFunction walk_function(mlir::func::FuncOp function,
                             const std::vector<std::vector<int64_t>>& shapes,
                             const ValueNames& names) {
  return Walk(names).run(function, shapes);
}

}  // namespace fuseflow
