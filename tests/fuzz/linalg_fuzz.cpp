// Fuzzes the reader of MLIR: any bytes are linalg functions, or are rejected. Extents that the file
// leaves open are 3; what becomes a program is accepted by the verifier, or is rejected.
#include <cstddef>
#include <cstdint>

#include "ir/print.h"
#include "ir/verify.h"
#include "linalg/convert.h"
#include "linalg/parse/parse.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Programs of this size show all that reading does; constants are evaluated in time of their size.
constexpr size_t kMostOperations = 200;
constexpr int64_t kMostElements = 4096;

bool is_small(const LinalgFunction& f) {
  for (const LinalgValue& value : f.values) {
    int64_t elements = 1;
    for (const int64_t extent : value.shape) {
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMostElements)
        return false;
    }
  }
  return f.ops.size() <= kMostOperations;
}

void convert(const LinalgModule& module, const std::string& name) {
  std::vector<std::vector<int64_t>> shapes;
  for (const LinalgArgument& argument : module.arguments(name)) {
    shapes.push_back(argument.shape);
    for (int64_t& extent : shapes.back()) extent = extent < 0 ? 3 : extent;
  }
  const LinalgFunction f = module.function(name, shapes);
  if (!is_small(f)) return;
  ImportOptions options;
  const auto give_shape = [&](const std::string& data, LinalgId id) {
    options.shapes[data] = f.values[static_cast<size_t>(id)].shape;
  };
  for (const LinalgId id : f.arguments) give_shape(f.values[static_cast<size_t>(id)].name, id);
  for (const LinalgConstant& constant : needed_constants(f))
    give_shape(constant.name, constant.value);
  const Program program = linalg_program(f, "fuzz.mlir", options);
  verify(program);
  print_program(program);
}

}  // namespace
}  // namespace fuseflow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuseflow;
  try {
    const LinalgModule module({reinterpret_cast<const char*>(data), size}, "fuzz.mlir");
    for (const std::string& name : module.functions()) convert(module, name);
  } catch (const Error&) {  // a Defect is none
  }
  return 0;
}
