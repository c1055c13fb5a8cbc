#include "nodes/numbers.h"

#include <algorithm>
#include <cmath>

#include "nodes/rules.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

const SpaceCount& NodeNumbers::operands() const {
  for (const Input& in : node.inputs) {
    if (!in.is_immediate()) return of(in.stream);
  }
  return space[0];
}

Fiber expected_fiber(double length, double whole) {
  if (length >= whole) return {whole, whole > 0 ? 1.0 : 0.0};
  return {length, 1 - std::exp(-length / std::max(1e-9, 1 - length / std::max(whole, 1.0)))};
}

StepCounts steps::of_operands(const NodeNumbers& n) {
  return {.steps = n.operands().tokens()};
}

Fiber fiber::not_made(const Node& node, FiberNumbers& /*numbers*/, int /*loop*/) {
  throw Defect(std::string("estimate: ") + node_kind_name(node.kind) + " makes no fibers");
}

void elements::of_first(const Node& node, const ElementNumbers& numbers, std::span<Elements> out) {
  const Elements first = node.inputs.empty() ? Elements{} : numbers.input(0);
  std::fill(out.begin(), out.end(), first);
}

void shaping::all_inputs(const Node& node, ShapingInputs& inputs) {
  for (const Input& input : node.inputs) inputs.add(input.stream);
}

void shaping::all_if_any_output(const Node& node, ShapingInputs& inputs) {
  for (const StreamId out : node.outputs) {
    if (inputs.shapes(out)) return all_inputs(node, inputs);
  }
}

void shaping::by_output(const Node& node, ShapingInputs& inputs) {
  const NodeRule& rule = node_rule(node.kind);
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    if (!inputs.shapes(node.outputs[port])) continue;
    inputs.add(node.inputs[rule.carried(node, port)].stream);
  }
}

}  // namespace fuseflow
