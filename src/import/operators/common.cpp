#include "import/operators/common.h"

#include <numeric>

namespace fuseflow {

std::vector<int> all_labels(int rank) {
  std::vector<int> labels(static_cast<size_t>(rank));
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

View unary_view(const NodeImport& node, Op op, const View& x) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(a);
  return k.result(all_labels(x.rank()), k.apply(op, {value}), x.type);
}

View binary_view(const NodeImport& node, Op op, const View& x, const View& y) {
  Kernel k = node.kernel();
  const int a = k.broadcast(x, x.rank());
  const int b = k.broadcast(y, x.rank());
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  return k.result(all_labels(x.rank()), k.apply(op, {left, right}), x.type);
}

View reduced_view(const NodeImport& node, Reduction reduction, const View& x,
                  const std::vector<int>& axes) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t root = k.reduce(reduction, axes, value);
  std::vector<int> labels = all_labels(x.rank());
  for (const int axis : axes) labels[static_cast<size_t>(axis)] = -1;
  return k.result(labels, root, x.type);
}

View derived_constant(NodeImport& node, const std::string& suffix, ConstantPtr data) {
  return node.importer().add_constant(node.onnx().outputs[0] + "." + suffix, std::move(data));
}

}  // namespace fuseflow
