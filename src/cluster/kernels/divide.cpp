#include "cluster/kernels/divide.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cluster/common/attach_plan.h"
#include "rewrite/rewrite.h"

namespace fuseflow::cluster {
namespace {

/// The first statement of a region that can be divided.
std::optional<Rewrite> next_division(const Program& program, size_t region) {
  for (const Statement& s : program.regions[region].statements) {
    if (auto rewrite = divide_reductions(program, s)) return rewrite;
  }
  return std::nullopt;
}

/// Divides all statements of a region.
std::vector<DividedStatement> divide_region(Program& program, size_t region) {
  std::vector<DividedStatement> divided;
  while (auto rewrite = next_division(program, region)) {
    for (Tensor& tensor : rewrite->tensors) {
      tensor.format = dense_format(tensor.format.rank());
    }
    divided.push_back({rewrite->before, rewrite->added.size() + 1});
    std::vector<std::string> notes;  // about schedules, which the region has not
    program = apply_rewrite(program, *rewrite, notes);
  }
  return divided;
}

}  // namespace

std::vector<DividedStatement> divide_statements(Program& program, const Machine& machine,
                                                const KernelOptions& options) {
  std::vector<DividedStatement> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph || has_schedule(program.regions[r])) continue;
    Program other = program;
    const std::vector<DividedStatement> divided = divide_region(other, r);
    if (divided.empty()) continue;
    const std::vector<std::string> kernels = regions_with_forms(other, machine, options);
    const std::string& name = other.regions[r].name;
    if (std::find(kernels.begin(), kernels.end(), name) == kernels.end()) continue;
    program = std::move(other);
    all.insert(all.end(), divided.begin(), divided.end());
  }
  return all;
}

}  // namespace fuseflow::cluster
