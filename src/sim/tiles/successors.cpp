#include "sim/tiles/successors.h"

namespace fuseflow {

Successors::Successors(const TileOps& ops) {
  const size_t count = ops.nodes.size();
  first.assign(count + 1, 0);
  waits.assign(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const TileOp& op = ops.nodes[i];
    waits[i] = op.operands + op.orders;
    for (int32_t e = 0; e < waits[i]; ++e) ++first[op_before(ops, op, e) + 1];
  }
  for (size_t i = 0; i < count; ++i) first[i + 1] += first[i];
  nodes.resize(static_cast<size_t>(first[count]));
  signals.resize(nodes.size());
  std::vector<int32_t> next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < count; ++i) {
    const TileOp& op = ops.nodes[i];
    for (int32_t e = 0; e < waits[i]; ++e) {
      const size_t from = op_before(ops, op, e);
      const auto edge = static_cast<size_t>(next[from]++);
      nodes[edge] = static_cast<int32_t>(i);
      signals[edge] = e >= op.operands && op.core != ops.nodes[from].core;
    }
  }
}

}  // namespace fuseflow
