#include "cluster/tile_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/common/machine_to_plan.h"
#include "cluster/kernels/kernels.h"
#include "cluster/plan.h"
#include "ir/elements.h"
#include "ir/print.h"
#include "ir/sparsity.h"
#include "search/stream_kernels.h"
#include "search/whole_kernels.h"
#include "support/error.h"

namespace fuseflow::cluster {

namespace {

/// Of each search for a plan: one of many that a program needs.
constexpr int64_t kOperations = int64_t{1} << 22;
/// Elements for each entry of a sparse tensor, up to which cores may be faster on all of them than
/// units for streams on the entries.
constexpr double kFullEnough = 16;
constexpr double kManyElements = 1 << 20;  ///< of a tensor whose entries nobody has counted

/// Stores given tensors dense whose absent entries save nothing, and would keep what reads them
/// from the cores: zeros that are added.
void store_addends_dense(Program& program) {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (tensor.source.kind == Source::Kind::none || tensor.format.all_dense()) continue;
    if (elements_of(tensor) > kManyElements) continue;
    if (absence_saves_work(program, static_cast<TensorId>(t))) continue;
    tensor.format = dense_format(tensor.format.rank());
  }
}

/// Whether some tensor that arrives sparse is too sparse to be worth storing dense.
bool is_very_sparse(const Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) {
    if (!tensor.given() || tensor.format.all_dense()) return false;
    if (!tensor.source.nnz) return elements_of(tensor) > kManyElements;
    return elements_of(tensor) > kFullEnough * static_cast<double>(*tensor.source.nnz);
  });
}

/// Whether a search can take each region of tiles as a run of whole kernels, by itself.
bool all_are_runs(const Program& kernels, const Program& planned) {
  size_t of_cores = 0;
  for (const WholeKernels& whole : wholes_of(kernels, planned)) {
    if (has_tiles(planned.regions[whole.regions.front()])) ++of_cores;
  }
  return planned_parts(kernels, planned).size() == of_cores;
}

PlannedProgram plan_of(const Program& kernels, std::string name, Program planned,
                       const GivenFormats& given) {
  PlannedProgram plan{std::move(name), std::move(planned)};
  const bool same_tensors = plan.program.tensors.size() == kernels.tensors.size();
  if (same_tensors && all_are_runs(kernels, plan.program)) return plan;
  plan.whole = plan.program;
  restore_given_formats(*plan.whole, given);
  return plan;
}

}  // namespace

std::vector<PlannedProgram> tile_plans(const Program& given, const Machine& whole,
                                       const TilePlansOptions& wanted, const PlanKeeper& kept,
                                       std::vector<std::string>& notes) {
  const Machine machine = machine_to_plan(whole);
  PlanOptions options{.given = given_formats(given),
                      .effort = {.operations = kOperations},
                      .threads = wanted.threads};
  Program kernels = given;  // a region may read dense copies of compressed inputs
  store_addends_dense(kernels);
  Program dense = kernels;
  store_dense(dense);
  std::vector<PlannedProgram> plans;
  const auto add = [&](const Program& program, PlanStrategy strategy, const char* name) {
    try {
      options.strategy = strategy;
      Program planned = kept(name, program, [&] {
        PlanListener unheard;
        return plan(program, machine, options, unheard);
      });
      plans.push_back(plan_of(kernels, name, std::move(planned), options.given));
    } catch (const Error& error) {  // the cores have no room for any tile
      if (error.code() != ExitCode::rejected) throw;
      notes.push_back(fmt::format("{}: {}; left out of the search", name, error.what()));
    }
  };
  add(kernels, PlanStrategy::none, "tiles apart");
  add(kernels, PlanStrategy::tiles, "tiles");
  if (!wanted.all && machine.has_streams && is_very_sparse(kernels)) return plans;
  if (!wanted.all && print_program(dense) == print_program(kernels)) return plans;
  add(dense, PlanStrategy::none, "dense tiles apart");
  add(dense, PlanStrategy::tiles, "dense tiles");
  return plans;
}

TilePlanner tile_planner() {
  return [](const Program& kernels, const Machine& machine) -> std::vector<PlannedProgram> {
    try {
      require_cores(machine);
    } catch (const Error&) {
      return {};
    }
    const PlanKeeper plan_now = [](const auto&, const Program&, const auto& plan) {
      return plan();
    };
    std::vector<std::string> unused;
    return tile_plans(kernels, machine, {.threads = 1, .all = false}, plan_now, unused);
  };
}

}  // namespace fuseflow::cluster
