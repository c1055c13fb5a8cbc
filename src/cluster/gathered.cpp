#include "cluster/gathered.h"

#include <algorithm>
#include <utility>

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

}  // namespace

std::optional<Format> gathered_format(const Program& program, const KernelForm& sparse,
                                      const std::set<TensorId>& by_columns) {
  const auto format_of = [&](const KernelTerm& load) -> const Format& {
    return program.tensors[static_cast<size_t>(load.tensor)].format;
  };
  const KernelTerm& first = operand_of(sparse, 0);
  const KernelTerm& second = operand_of(sparse, 1);
  const int rows = dimension_along(sparse, first, kKernelM);
  const int columns = dimension_along(sparse, second, kKernelN);
  const Format& other = format_of(second);
  if (rows < 0 || columns < 0 || !other.all_dense() || other.mode_order.back() != columns) {
    return std::nullopt;
  }
  Format format = format_of(first);
  if (format.all_dense() && format.mode_order.back() == rows) return format;
  if (by_columns.count(first.tensor) == 0) return std::nullopt;
  format = dense_format(format.rank());
  const auto at = std::find(format.mode_order.begin(), format.mode_order.end(), rows);
  std::rotate(at, at + 1, format.mode_order.end());
  return format;
}

}  // namespace fuseflow::cluster
