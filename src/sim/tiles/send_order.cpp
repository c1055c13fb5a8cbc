#include "sim/tiles/send_order.h"

#include <algorithm>
#include <tuple>

namespace fuseflow {
namespace {

/// By operation: how many others have to run before it, one after the other.
std::vector<int32_t> steps_before(const TileOps& ops) {
  std::vector<int32_t> steps(ops.nodes.size(), 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    const TileOp& op = ops.nodes[i];
    for (int32_t e = 0; e < op.operands + op.orders; ++e) {
      const int32_t before = ops.edges[static_cast<size_t>(op.first_operand + e)];
      steps[i] = std::max(steps[i], steps[static_cast<size_t>(before)] + 1);
    }
  }
  return steps;
}

}  // namespace

SendOrder::SendOrder(const TileOps& ops) : place(ops.nodes.size(), kNone) {
  for (size_t i = 0; i < place.size(); ++i) {
    if (ops.nodes[i].kind == TileOpKind::send) sends.push_back(static_cast<int32_t>(i));
  }
  if (sends.empty()) return;
  const std::vector<int32_t> steps = steps_before(ops);
  const auto core = [&](int32_t op) { return ops.nodes[static_cast<size_t>(op)].core; };
  const auto key = [&](int32_t op) {
    return std::tuple(core(op), steps[static_cast<size_t>(op)], op);
  };
  std::sort(sends.begin(), sends.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (size_t at = 0; at < sends.size(); ++at) {
    place[static_cast<size_t>(sends[at])] = static_cast<int32_t>(at);
    first.push_back(at == 0 || core(sends[at - 1]) != core(sends[at]));
  }
}

int32_t SendOrder::next(int32_t at) const {
  const auto following = static_cast<size_t>(at) + 1;
  return following < sends.size() && !first[following] ? at + 1 : kNone;
}

}  // namespace fuseflow
