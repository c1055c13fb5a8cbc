#include "sim/tiles/send_order.h"

#include <algorithm>
#include <tuple>

namespace fuseflow {
namespace {

/// By operation: how many steps after the begin it can run where every operation is one step, and
/// each core computes in program order.
std::vector<int32_t> steps_before(const TileOps& ops) {
  std::vector<int32_t> steps(ops.nodes.size(), 0);
  std::vector<int32_t> computed(static_cast<size_t>(ops.cores), 0);  // by core, so far
  for (size_t i = 0; i < steps.size(); ++i) {
    const TileOp& op = ops.nodes[i];
    const bool computes = op.kind != TileOpKind::load && op.kind != TileOpKind::send;
    int32_t begin = computes ? computed[op.core] : 0;
    for (int32_t e = 0; e < op.operands + op.orders; ++e) {
      const int32_t before = ops.edges[static_cast<size_t>(op.first_operand + e)];
      begin = std::max(begin, steps[static_cast<size_t>(before)] + 1);
    }
    steps[i] = begin;
    if (computes) computed[op.core] = begin + 1;
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
  const auto key = [&](int32_t op) {
    return std::tuple(ops.nodes[static_cast<size_t>(op)].core, steps[static_cast<size_t>(op)], op);
  };
  std::sort(sends.begin(), sends.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (size_t at = 0; at < sends.size(); ++at) {
    place[static_cast<size_t>(sends[at])] = static_cast<int32_t>(at);
  }
}

int32_t SendOrder::next(const TileOps& ops, int32_t at) const {
  const auto following = static_cast<size_t>(at) + 1;
  return following < sends.size() && !is_first(ops, at + 1) ? at + 1 : kNone;
}

bool SendOrder::is_first(const TileOps& ops, int32_t at) const {
  const auto core = [&](int32_t p) {
    return ops.nodes[static_cast<size_t>(sends[static_cast<size_t>(p)])].core;
  };
  return at == 0 || core(at - 1) != core(at);
}

}  // namespace fuseflow
