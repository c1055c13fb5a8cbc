// The module: parsed, verified, softmax taken apart; its functions and their names.
#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/MLProgram/IR/MLProgram.h>
#include <mlir/Dialect/MemRef/IR/MemRef.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/Verifier.h>

#include <set>

#include "linalg/parse/old_spelling.h"
#include "linalg/parse/parse.h"
#include "linalg/parse/text_limits.h"
#include "linalg/parse/walk.h"

namespace fuseflow {

namespace {

/// The text between two places of the source, without a % in front.
std::string spelled(llvm::SMRange range) {
  std::string_view text(range.Start.getPointer(),
                        static_cast<size_t>(range.End.getPointer() - range.Start.getPointer()));
  if (text.starts_with('%')) text.remove_prefix(1);
  return std::string(text);
}

mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::bufferization::BufferizationDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::ml_program::MLProgramDialect,
                  mlir::scf::SCFDialect, mlir::sparse_tensor::SparseTensorDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  return registry;
}

/// Messages of MLIR with their places; notes follow the errors that they are of.
class CollectedDiagnostics {
 public:
  explicit CollectedDiagnostics(mlir::MLIRContext* context)
      : handler_(context, [this](mlir::Diagnostic& d) {
          add(d);
          return mlir::success();
        }) {}

  [[noreturn]] void fail(const std::string& path) {
    if (found_.empty()) found_.push_back({Severity::error, Location{path}, "this is no MLIR", {}});
    throw Error(ExitCode::rejected, std::move(found_));
  }

 private:
  void add(mlir::Diagnostic& d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && found_.size() < 50)
      found_.push_back({Severity::error, place_of(d.getLocation()), text_of(d), {}});
  }

  std::vector<fuseflow::Diagnostic> found_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace

struct LinalgModule::State {
  mlir::MLIRContext context{dialects(), mlir::MLIRContext::Threading::DISABLED};
  mlir::Block block;
  mlir::AsmParserState names;
  llvm::SourceMgr sources;

  std::string name_of_value(mlir::Value value) const {
    if (const auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      const auto* block_names = names.getBlockDef(argument.getOwner());
      if (block_names == nullptr || argument.getArgNumber() >= block_names->arguments.size())
        return fmt::format("arg{}", argument.getArgNumber());
      return spelled(block_names->arguments[argument.getArgNumber()].loc);
    }
    const auto result = llvm::cast<mlir::OpResult>(value);
    const auto* op_names = names.getOpDef(result.getOwner());
    if (op_names == nullptr) return {};
    std::string name;
    for (const auto& group : op_names->resultGroups) {
      if (group.startIndex > result.getResultNumber()) break;
      name = spelled(group.definition.loc);
      const size_t colon = name.find(':');
      if (colon != std::string::npos) name.resize(colon);
      if (group.startIndex != result.getResultNumber() || colon != std::string::npos)
        name += fmt::format("_{}", result.getResultNumber() - group.startIndex);
    }
    return name;
  }

  mlir::func::FuncOp find(const std::string& name) {
    mlir::func::FuncOp found;
    block.walk([&](mlir::func::FuncOp f) {
      if (f.getName() == name && !f.isExternal() && !found) found = f;
    });
    if (!found) throw Error(ExitCode::rejected, fmt::format("there is no function @{}", name));
    return found;
  }
};

LinalgModule::LinalgModule(std::string_view text, const std::string& path)
    : state_(std::make_unique<State>()) {
  check_linalg_text(text, path);
  State& s = *state_;
  s.context.printOpOnDiagnostic(false);  // its text may be as long as types are
  s.context.allowUnregisteredDialects();
  s.context.loadAllAvailableDialects();
  CollectedDiagnostics messages(&s.context);
  s.sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(in_new_spelling(text), path),
                               llvm::SMLoc());
  const mlir::ParserConfig config(&s.context, /*verifyAfterParse=*/true);
  if (mlir::failed(mlir::parseAsmSourceFile(s.sources, &s.block, config, &s.names)))
    messages.fail(path);
  // A softmax is what MLIR takes it apart into.
  std::vector<mlir::linalg::SoftmaxOp> softmaxes;
  s.block.walk([&](mlir::linalg::SoftmaxOp op) { softmaxes.push_back(op); });
  for (mlir::linalg::SoftmaxOp op : softmaxes) {
    mlir::OpBuilder builder(op);
    auto parts = op.decomposeOperation(builder);
    if (mlir::failed(parts)) refuse(*op, "MLIR cannot take it apart into linalg.generic");
    op->replaceAllUsesWith(*parts);
    op->erase();
  }
}

LinalgModule::~LinalgModule() = default;

std::vector<std::string> LinalgModule::functions() const {
  std::set<std::string> called;
  state_->block.walk([&](mlir::func::CallOp op) {
    auto around = op->getParentOfType<mlir::func::FuncOp>();
    if (around && around.getName() != op.getCallee()) called.insert(op.getCallee().str());
  });
  std::vector<std::string> names;
  std::vector<std::string> all;
  state_->block.walk([&](mlir::func::FuncOp f) {
    if (f.isExternal()) return;
    all.push_back(f.getName().str());
    if (!called.contains(all.back())) names.push_back(all.back());
  });
  if (names.empty()) names = all;  // they call each other
  if (names.empty()) {
    state_->block.walk([&](mlir::Operation* op) {
      const llvm::StringRef dialect = op->getName().getDialectNamespace();
      if (dialect != "builtin" && dialect != "ml_program" && !llvm::isa<mlir::func::FuncOp>(op))
        refuse(*op, "is in no func.func");
    });
  }
  return names;
}

std::vector<LinalgArgument> LinalgModule::arguments(const std::string& function) const {
  mlir::func::FuncOp found = state_->find(function);
  std::vector<LinalgArgument> arguments;
  for (const mlir::BlockArgument a : found.getArguments()) {
    LinalgArgument argument;
    argument.name = state_->name_of_value(a);
    argument.where = place_of(a.getLoc());
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(a.getType());
    if (!type && llvm::isa<mlir::ShapedType>(a.getType()))
      refuse(*found, fmt::format("argument %{} is no tensor of known rank; expected tensors (run "
                                 "before bufferization)",
                                 argument.name));
    argument.type = element_type(type ? type.getElementType() : a.getType(), *found);
    if (type) {
      for (const int64_t extent : type.getShape())
        argument.shape.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

LinalgFunction LinalgModule::function(const std::string& name,
                                      const std::vector<std::vector<int64_t>>& shapes) const {
  return walk_function(state_->find(name), shapes,
                       [&](mlir::Value value) { return state_->name_of_value(value); });
}

}  // namespace fuseflow
