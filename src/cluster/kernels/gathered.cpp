#include "cluster/kernels/gathered.h"

#include <algorithm>
#include <utility>

#include "graph/tile_kernel.h"

namespace fuseflow::cluster {
namespace {

/// The dimension of the tensor that the only loop along `dim` walks element by element; -1: none.
int dimension_along(const KernelForm& form, const KernelTerm& load, KernelDim dim) {
  int found = -1;
  for (size_t d = 0; d < load.subscripts.size(); ++d) {
    const TileSubscript& subscript = load.subscripts[d];
    for (const auto& [digit, factor] : subscript.terms) {
      if (form.digits[static_cast<size_t>(digit)].dim != dim) continue;
      if (found >= 0 || factor != 1 || subscript.terms.size() > 1) return -1;
      found = static_cast<int>(d);
    }
  }
  return found;
}

const Format& format_of(const Program& program, TensorId tensor) {
  return program.tensors[static_cast<size_t>(tensor)].format;
}

/// May the tensor have this dimension innermost?
bool may_have(const InnermostDims& kept, TensorId tensor, int dimension) {
  const auto at = kept.find(tensor);
  return at == kept.end() || at->second == dimension;
}

}  // namespace

std::optional<Format> gathered_format(const Program& program, const KernelForm& sparse,
                                      const std::set<TensorId>& by_columns,
                                      const InnermostDims& kept) {
  const KernelTerm& first = operand_of(sparse, 0);
  const KernelTerm& second = operand_of(sparse, 1);
  const int rows = dimension_along(sparse, first, kKernelM);
  const int columns = dimension_along(sparse, second, kKernelN);
  const Format& other = format_of(program, second.tensor);
  if (rows < 0 || columns < 0 || !other.all_dense() || other.mode_order.back() != columns) {
    return std::nullopt;
  }
  const bool both = first.tensor == second.tensor;  // a square: stored once
  if (!may_have(kept, first.tensor, rows) || !may_have(kept, second.tensor, columns) ||
      (both && rows != columns)) {
    return std::nullopt;
  }
  Format format = format_of(program, first.tensor);
  if (format.all_dense() && format.mode_order.back() == rows) return format;
  if (by_columns.count(first.tensor) == 0) return std::nullopt;
  format = dense_format(format.rank());
  const auto at = std::find(format.mode_order.begin(), format.mode_order.end(), rows);
  std::rotate(at, at + 1, format.mode_order.end());
  return format;
}

InnermostDims gathered_innermost(const Program& program, const KernelForm& sparse,
                                 const Format& format) {
  const TensorId second = operand_of(sparse, 1).tensor;
  return {{operand_of(sparse, 0).tensor, format.mode_order.back()},
          {second, format_of(program, second).mode_order.back()}};
}

InnermostDims gathered_innermost(const Program& program, const Graph& graph) {
  InnermostDims innermost;
  if (!is_tile_kernel(graph) || gathered_step(graph) == 0) return innermost;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_load || !varies_along(graph, node)[kKernelK]) continue;
    innermost[node.tensor] = format_of(program, node.tensor).mode_order.back();
  }
  return innermost;
}

}  // namespace fuseflow::cluster
