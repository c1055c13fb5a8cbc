#include "cuda/finish.h"

#include <fmt/format.h>

#include "cuda/operand.h"
#include "cuda/refuse.h"
#include "cuda/steps.h"
#include "cuda/text.h"

namespace fuseflow::cuda {

ElementAt result_element(const Program& program, const Graph& graph, NodeId store,
                         std::vector<DimensionAt> dims) {
  const Node& node = graph.nodes[static_cast<size_t>(store)];
  require_row_major(program, node.tensor);
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  if (!is_multiplied(tensor.type)) {
    throw Refused{fmt::format(
        "%{} has elements of {}; results are generated as f32, f16, bf16, f8e4m3 and f8e5m2",
        tensor.name, element_name(tensor.type))};
  }
  return {node.tensor, node.tile.subscripts, std::move(dims)};
}

std::vector<Step> finish_steps(const Program&, Kernel& kernel, const FinishPlan& plan) {
  std::vector<Step> steps;
  const auto shared = [&](Step step) {
    step.scatter = plan.scatter;
    step.variable = plan.turn;
    steps.push_back(std::move(step));
  };
  if (plan.scatter >= 0) {
    shared(step_of(StepKind::await_room));
    shared(step_of(StepKind::stage, plan.sums));
    steps.push_back(step_of(StepKind::fence));
    steps.push_back(step_of(StepKind::meet));
    shared(step_of(StepKind::scatter));
    shared(step_of(StepKind::add_shares, plan.sums));
    shared(step_of(StepKind::scatter_release));
  }
  if (!plan.nodes.empty()) {
    Step work = step_of(StepKind::work, plan.sums);
    work.work = static_cast<int>(kernel.work.size());
    work.scatter = plan.scatter;
    kernel.work.push_back({plan.nodes, {plan.from}, plan.result, plan.dims});
    if (kernel.finish.adders > 1 && !plan.first.empty()) {
      steps.push_back(when_of(plan.first, {work}));
    } else {
      steps.push_back(work);
    }
  }
  shared(step_of(kernel.finish.adders > 1 ? StepKind::add : StepKind::store, plan.sums, 0));
  if (plan.scatter >= 0) steps.push_back(count_of(plan.turn));
  return steps;
}

}  // namespace fuseflow::cuda
