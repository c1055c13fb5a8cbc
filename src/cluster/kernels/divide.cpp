#include "cluster/kernels/divide.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/common/attach_plan.h"
#include "cluster/common/statement_table.h"
#include "cluster/kernels/separate_kernels.h"
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

/// The cycles of these statements as kernels; nothing where one of them has no form.
std::optional<int64_t> cycles_of(const Program& program, const std::set<TensorId>& results,
                                 const Machine& machine) {
  std::string why;
  const std::optional<SeparateKernels> apart = separate_kernels(program, results, machine, why);
  return apart ? std::optional(apart->total.cycles) : std::nullopt;
}

/// Divides one product.
std::optional<DividedProduct> divide_product(Program& program, TensorId result,
                                             const Rewrite& rewrite, const Machine& machine,
                                             Divide when) {
  std::vector<std::string> notes;  // about schedules, which the region has not
  Program other = apply_rewrite(program, rewrite, notes);
  DividedProduct divided{result, {}};
  std::set<TensorId> members{result};
  for (const Statement& s : rewrite.added) {
    divided.operands.push_back(s.result);
    members.insert(s.result);
  }
  if (when == Divide::where_faster) {
    const std::optional<int64_t> before = cycles_of(program, {result}, machine);
    const std::optional<int64_t> after = cycles_of(other, members, machine);
    if (!before || !after || *after >= *before) return std::nullopt;
  }
  program = std::move(other);
  return divided;
}

const Statement& statement_of(const Region& region, TensorId result) {
  return *std::find_if(region.statements.begin(), region.statements.end(),
                       [&](const Statement& s) { return s.result == result; });
}

}  // namespace

std::vector<DividedProduct> divide_products(Program& program, const Machine& machine,
                                            const KernelOptions& options, Divide when) {
  std::vector<DividedProduct> all;
  const std::vector<std::string> kernels = regions_with_forms(program, machine, options);
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const Region& region = program.regions[r];
    const bool is_kernel = std::find(kernels.begin(), kernels.end(), region.name) != kernels.end();
    if (region.graph || has_schedule(region) || !is_kernel) continue;
    for (const TensorId result : results_of(region)) {
      const auto rewrite = divide_operands(program, statement_of(program.regions[r], result));
      if (!rewrite) continue;
      auto divided = divide_product(program, result, *rewrite, machine, when);
      if (divided) all.push_back(std::move(*divided));
    }
  }
  return all;
}

std::vector<DividedStatement> divide_statements(Program& program, const Machine& machine,
                                                const KernelOptions& options) {
  std::vector<DividedStatement> all;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph || has_schedule(program.regions[r])) continue;
    if (!next_division(program, r)) continue;
    Program other = program;
    const std::vector<DividedStatement> divided = divide_region(other, r);
    const std::vector<std::string> kernels = regions_with_forms(other, machine, options);
    const std::string& name = other.regions[r].name;
    if (std::find(kernels.begin(), kernels.end(), name) == kernels.end()) continue;
    program = std::move(other);
    all.insert(all.end(), divided.begin(), divided.end());
  }
  return all;
}

}  // namespace fuseflow::cluster
