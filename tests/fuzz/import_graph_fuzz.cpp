// Fuzzes the importer with models drawn node by node (onnx_draw.h), which mutated bytes hardly ever
// reach. A model is refused with an Error, or becomes a program that verifies, prints and parses,
// and whose facts hold of the values that the reference computes. Where numbers are small, the
// results equal those of the same model with its inputs as constants, which the importer computes
// itself: statements, their folding and the reference agree.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "import/import.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "onnx_draw.h"
#include "reference/reference.h"
#include "support/error.h"
#include "tensor/source.h"

namespace fuseflow {
namespace {

constexpr int64_t kMostSteps = 1 << 20;  ///< of a program that is evaluated
constexpr float kMostValue = 1e4F;       ///< beyond, rounding differs too much to compare
constexpr float kLeastValue = 1e-4F;
constexpr double kTolerance = 1e-3;

[[noreturn]] void defect(const std::string& what, const Program& program) {
  std::fprintf(stderr, "defect: %s\n%s\n", what.c_str(), print_program(program).c_str());
  __builtin_trap();
}

/// A model as a file in memory: constants of the program are read from it again.
class ModelFile {
 public:
  explicit ModelFile(const onnx::ModelProto& model)
      : descriptor_(::memfd_create("model", MFD_CLOEXEC)) {
    const std::string bytes = model.SerializeAsString();
    if (::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~ModelFile() { ::close(descriptor_); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Imports, and checks what holds of every program; nothing if the model is refused.
std::optional<Program> imported(const ModelFile& file, const ImportOptions& options) {
  register_onnx_sources();  // forgets the models before
  try {
    Program program = import_onnx(file.path(), options);
    verify(program);
    const std::string text = print_program(program);
    if (print_program(parse_program({"printed.ff", text})) != text)
      defect("it is printed otherwise after parsing", program);
    return program;
  } catch (const Error& error) {
    if (std::getenv("FUSEFLOW_FUZZ_TALK") != nullptr) std::fprintf(stderr, "%s\n", error.what());
    if (error.code() != ExitCode::rejected) {
      std::fprintf(stderr, "defect: status %d: %s\n", static_cast<int>(error.code()), error.what());
      __builtin_trap();
    }
    return std::nullopt;
  }
}

bool is_small(const Program& program) {
  double steps = 0;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      double points = 1;
      for (const Index& index : s.indices) points *= static_cast<double>(index.extent);
      steps += points * static_cast<double>(s.nodes.size());
    }
  }
  return steps <= kMostSteps;
}

bool satisfies(const Facts& facts, float value) {
  return (!facts.finite || std::isfinite(value)) && (!facts.no_nan || !std::isnan(value)) &&
         (!facts.nonnegative || value >= 0) && (!facts.nonzero || value != 0) &&
         (!facts.below_inf || value < INFINITY);
}

bool all_satisfy(const Facts& facts, const Value& value) {
  if (value.dense == nullptr) return true;
  for (const float v : *value.dense) {
    if (!satisfies(facts, v)) return false;
  }
  return true;
}

struct Evaluation {
  std::vector<Value> values;
  bool assumptions_hold = true;
  bool comparable = true;  ///< no value is so large or small that rounding decides
};

Evaluation evaluated(const Program& program) {
  std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
  for (size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.role != Role::input && tensor.role != Role::constant) continue;
    inputs[t] = std::make_shared<const Storage>(
        load(tensor.source, known_shape(tensor), tensor.format, tensor.fill));
  }
  Evaluation result;
  ReferenceOptions options;
  options.threads = 1;
  options.on_result = [&](TensorId id, const Value& value) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    result.assumptions_hold = result.assumptions_hold && all_satisfy(tensor.assumed, value);
    if (result.assumptions_hold && !all_satisfy(tensor.facts, value))
      defect("the facts of %" + tensor.name + " do not hold of its values", program);
    for (const float v : value.dense ? *value.dense : std::vector<float>{}) {
      const bool plain =
          v == 0 || !std::isfinite(v) || (std::fabs(v) < kMostValue && std::fabs(v) > kLeastValue);
      result.comparable = result.comparable && plain;
    }
  };
  result.values = evaluate(program, inputs, options);
  return result;
}

/// Operators where a rounding error decides, or that give integers, where NaN is undefined.
bool jumps(const onnx::ModelProto& model) {
  static const std::set<std::string> kJumps = {"Floor",
                                               "Ceil",
                                               "Round",
                                               "Mod",
                                               "Equal",
                                               "Greater",
                                               "GreaterOrEqual",
                                               "Less",
                                               "Sign",
                                               "LessOrEqual",
                                               "Cast",
                                               "IsInf",
                                               "IsNaN",
                                               "CastLike",
                                               "Not",
                                               "Pow",
                                               "ThresholdedRelu",
                                               "QuantizeLinear",
                                               "DynamicQuantizeLinear"};
  for (const auto& node : model.graph().node()) {
    if (kJumps.contains(node.op_type())) return true;
  }
  return false;
}

onnx::TensorProto proto_of(const RawTensor& raw) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t e : raw.shape) tensor.add_dims(e);
  const Storage storage = to_storage(raw, dense_format(static_cast<int>(raw.shape.size())));
  for (const float v : storage.values) tensor.add_float_data(v);
  return tensor;
}

/// Results of the model against those of the same model without inputs.
void compare_with_folded(const DrawnModel& drawn, const Program& program,
                         const Evaluation& evaluation) {
  std::map<std::string, onnx::TensorProto> constants;
  for (const auto& [name, text] : drawn.bindings)
    constants[name] = proto_of(read_raw(parse_binding(text), std::nullopt));
  const ModelFile file(with_constants(drawn.model, constants));
  const auto folded = imported(file, {});
  if (!folded) return;  // more is refused of constants: a division by zero
  const Evaluation expected = evaluated(*folded);
  if (!expected.comparable) return;
  for (const auto& output : drawn.model.graph().output()) {
    const TensorId a = find_tensor(program, output.name());
    const TensorId b = find_tensor(*folded, output.name());
    if (a < 0 || b < 0) continue;
    Value actual = evaluation.values[static_cast<size_t>(a)];
    const Value& wanted = expected.values[static_cast<size_t>(b)];
    if (actual.elements() == wanted.elements()) actual.shape = wanted.shape;  // split dimensions
    const Comparison comparison = compare(actual, wanted);
    if (!comparison.passes(kTolerance))
      defect(fmt::format("result %{} differs from that of the model with constants, which is\n{}",
                         output.name(), print_program(*folded)),
             program);
  }
}

void run(std::string_view bytes) {
  const DrawnModel drawn = draw_model(bytes);
  if (std::getenv("FUSEFLOW_FUZZ_TALK") != nullptr)
    std::fprintf(stderr, "%s\n", drawn.model.ShortDebugString().c_str());
  ImportOptions options;
  for (const auto& [name, text] : drawn.bindings) options.bindings[name] = parse_binding(text);
  const ModelFile file(drawn.model);
  const auto program = imported(file, options);
  if (!program || !is_small(*program)) return;
  const Evaluation evaluation = evaluated(*program);
  if (!drawn.tame || !evaluation.comparable || !evaluation.assumptions_hold || jumps(drawn.model))
    return;
  compare_with_folded(drawn, *program, evaluation);
}

}  // namespace
}  // namespace fuseflow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuseflow::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
