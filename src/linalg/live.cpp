// Liveness, backwards over straight-line code.
#include "linalg/live.h"

#include "linalg/out_places.h"

namespace fuseflow {

namespace {

/// Whether elements of result `r` stay what they are in its out.
bool writes_parts(const LinalgFunction& function, const LinalgOp& op, size_t r) {
  if (op.kind != LinalgOp::Kind::structured || op.outs.empty()) return false;
  const auto& shape = function.values[static_cast<size_t>(op.outs[r].value)].shape;
  return !out_places(op, r, shape).conditions.empty();
}

}  // namespace

std::vector<bool> needed_nodes(const LinalgOp& op, const std::vector<int32_t>& roots) {
  std::vector<bool> needed(op.body.size(), false);
  for (const int32_t root : roots) needed[static_cast<size_t>(root)] = true;
  for (size_t n = op.body.size(); n-- > 0;) {
    if (!needed[n]) continue;
    for (const int32_t child : op.body[n].children) needed[static_cast<size_t>(child)] = true;
  }
  return needed;
}

namespace {

/// What a result is computed from: where it reads the out of another, that one's nodes, too.
std::vector<bool> nodes_of_results(const LinalgOp& op, std::vector<int32_t> roots) {
  const auto inputs = static_cast<int32_t>(op.inputs.size());
  std::vector<bool> of_result(op.yields.size(), false);
  for (bool more = true; more;) {
    more = false;
    const std::vector<bool> needed = needed_nodes(op, roots);
    for (size_t n = 0; n < op.body.size(); ++n) {
      const BodyNode& node = op.body[n];
      if (!needed[n] || node.kind != BodyNode::Kind::operand || node.operand < inputs) continue;
      const auto r = static_cast<size_t>(node.operand - inputs);
      if (of_result[r]) continue;
      of_result[r] = true;
      roots.push_back(op.yields[r]);
      more = true;
    }
  }
  return needed_nodes(op, roots);
}

}  // namespace

std::vector<LinalgId> values_read(const LinalgFunction& function, const LinalgOp& op,
                                  const std::vector<bool>& live) {
  std::vector<LinalgId> read;
  std::vector<int32_t> roots;
  bool any = false;
  for (size_t r = 0; r < op.results.size(); ++r) {
    if (!live[static_cast<size_t>(op.results[r])]) continue;
    any = true;
    if (r < op.yields.size()) roots.push_back(op.yields[r]);
    if (writes_parts(function, op, r)) read.push_back(op.outs[r].value);
  }
  if (!any) return read;
  const auto inputs = static_cast<int32_t>(op.inputs.size());
  const std::vector<bool> needed = nodes_of_results(op, roots);
  for (size_t n = 0; n < op.body.size(); ++n) {
    if (!needed[n]) continue;
    const BodyNode& node = op.body[n];
    if (node.kind == BodyNode::Kind::element) read.push_back(node.value);
    if (node.kind != BodyNode::Kind::operand) continue;
    const auto& from = node.operand < inputs ? op.inputs : op.outs;
    const int32_t at = node.operand < inputs ? node.operand : node.operand - inputs;
    read.push_back(from[static_cast<size_t>(at)].value);
  }
  if (op.kind == LinalgOp::Kind::structured) return read;
  for (const LinalgOperand& input : op.inputs) read.push_back(input.value);
  return read;
}

std::vector<bool> live_values(const LinalgFunction& function) {
  std::vector<bool> live(function.values.size(), false);
  for (const LinalgId id : function.returned) live[static_cast<size_t>(id)] = true;
  for (size_t o = function.ops.size(); o-- > 0;) {
    for (const LinalgId id : values_read(function, function.ops[o], live))
      live[static_cast<size_t>(id)] = true;
  }
  return live;
}

}  // namespace fuseflow
