#include "cluster/common/loop_extent.h"

namespace fuseflow::cluster {

std::optional<int64_t> loop_extent(const Program& program, const Statement& statement,
                                   IndexId index) {
  const int64_t stated = statement.indices[static_cast<size_t>(index)].extent;
  if (stated >= 0) return stated;
  const auto known = [&](TensorId tensor, size_t d) {
    return program.tensors[static_cast<size_t>(tensor)].shape[d].value;
  };
  for (size_t d = 0; d < statement.result_indices.size(); ++d) {
    if (statement.result_indices[d] == index) return known(statement.result, d);
  }
  for (const Expr& node : statement.nodes) {
    if (node.kind != Expr::Kind::access) continue;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& at = node.subscripts[d];
      if (at.is_plain() && at.plain() == index) return known(node.tensor, d);
    }
  }
  return std::nullopt;
}

}  // namespace fuseflow::cluster
