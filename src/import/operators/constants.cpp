// Operators that make constants.
#include <fmt/format.h>

#include "import/importer.h"
#include "import/registry.h"

namespace fuseflow {

namespace {

HostPtr float_list(const std::vector<float>& values, std::vector<int64_t> shape) {
  return host_floats(values, std::move(shape));
}

void constant(NodeImport& node) {
  if (node.onnx().attributes.size() != 1)
    node.reject("expected exactly one attribute that gives the value");
  const auto& [name, a] = *node.onnx().attributes.begin();
  using K = OnnxAttribute::Kind;
  const auto length = [](const auto& list) {
    return std::vector<int64_t>{static_cast<int64_t>(list.size())};
  };
  if ((a.kind == K::tensor || a.kind == K::sparse) && a.tensor) {
    node.output_initializer(0, a.tensor);
  } else if (a.kind == K::integer) {
    node.output_constant(0, host_ints({a.i}, {}));
  } else if (a.kind == K::integers) {
    node.output_constant(0, host_ints(a.ints, length(a.ints)));
  } else if (a.kind == K::real) {
    node.output_constant(0, float_list({a.f}, {}));
  } else if (a.kind == K::reals) {
    node.output_constant(0, float_list(a.floats, length(a.floats)));
  } else {
    node.reject(fmt::format("a value of this kind ('{}') is not a numeric tensor", name));
  }
}

constexpr OperatorRow kRows[] = {
    {"Constant", constant, "string values"},
};

}  // namespace

std::span<const OperatorRow> constant_operators() {
  return kRows;
}

}  // namespace fuseflow
