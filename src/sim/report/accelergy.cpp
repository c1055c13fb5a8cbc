#include "sim/report/accelergy.h"

#include <fmt/format.h>

#include "sim/common/energy_of_run.h"

namespace fuseflow {
namespace {

Actions actions_of(const Program& program, const Machine& machine, const ProgramRun& run) {
  Actions all;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Graph& graph = *program.regions[r].graph;
    all += region_actions(graph, machine, work_of_run(graph, machine, run.regions[r])).sum();
  }
  all[kLeak] = static_cast<double>(total_cycles(run, machine));
  return all;
}

}  // namespace

std::string accelergy_actions(const Program& program, const Machine& machine,
                              const ProgramRun& run) {
  const Actions actions = actions_of(program, machine, run);
  std::string text = "action_counts:\n  version: 0.4\n  local:";
  std::string_view component;
  for (ActionId a = 0; a < kActions; ++a) {
    if (actions[a] == 0) continue;
    const ActionInfo info = action_info(a);
    if (info.component != component) {
      text += fmt::format("\n    - name: fuseflow.{}\n      action_counts:", info.component);
    }
    component = info.component;
    // Accelergy multiplies: shares of bytes that cross links are rounded to whole ones.
    text += fmt::format("\n        - name: {}\n          counts: {:.0f}", info.name, actions[a]);
  }
  return text + (component.empty() ? " []\n" : "\n");
}

}  // namespace fuseflow
