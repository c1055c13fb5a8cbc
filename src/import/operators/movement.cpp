// Operators that move data without arithmetic: they change the view and emit nothing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "import/importer.h"
#include "import/registry.h"

namespace fuseflow {

namespace {

void identity(NodeImport& node) {
  node.output(0, node.input(0));
}

void transpose_node(NodeImport& node) {
  View value = node.input(0);
  std::vector<int> order;
  for (const int64_t d : node.integers("perm")) order.push_back(node.axis(d, value.rank()));
  if (!node.has_attribute("perm")) {
    order.resize(static_cast<size_t>(value.rank()));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int d = 0; d < value.rank(); ++d) {
    if (static_cast<int>(sorted.size()) != value.rank() || sorted[static_cast<size_t>(d)] != d) {
      node.reject("attribute 'perm' is not a permutation of the dimensions");
    }
  }
  transpose(value, order);
  node.output(0, std::move(value));
}

constexpr OperatorRow kRows[] = {
    {"Identity", identity},
    {"Transpose", transpose_node},
};

}  // namespace

std::span<const OperatorRow> movement_operators() {
  return kRows;
}

}  // namespace fuseflow
