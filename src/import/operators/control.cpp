// Control flow that is known at import: the branch that a constant condition takes.
#include "import/importer.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

void if_node(NodeImport& node) {
  const ConstantPtr condition = node.deciding_input(0, "the condition", "the branch");
  if (condition->size() != 1) node.reject("the condition is no single value");
  const bool taken = condition->as_float(0) != 0;
  const OnnxAttribute* branch = node.attribute(taken ? "then_branch" : "else_branch");
  node.ignore({"then_branch", "else_branch"});
  if (branch == nullptr || !branch->graph) node.reject("the branch that is taken is missing");
  const auto& outputs = branch->graph->outputs;
  if (static_cast<int>(outputs.size()) != node.output_count())
    node.reject("the branch that is taken has another number of results than the node");
  node.importer().go_on_with(*branch->graph, node.onnx().outputs);
}

constexpr OperatorRow kControlRows[] = {
    {"If", if_node, "a condition that is not constant", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> control_operators() {
  return kControlRows;
}

}  // namespace fuseflow
