#include "whatif/region_trials.h"

#include <algorithm>

#include "estimate/estimate.h"
#include "lower/lower.h"
#include "nodes/rule.h"
#include "passes/pass.h"
#include "resources/shortage.h"
#include "sim/program_run.h"
#include "sim/run.h"
#include "support/unless_refused.h"

namespace fuseflow {
namespace {

RegionSlice slice_of(const Program& program, size_t region) {
  return slice_region(program, region,
                      [&](TensorId tensor) { return is_read_later(program, region, tensor); });
}

constexpr size_t kHere = 1;  ///< a region of two: what it finds on chip is from the first

/// What stays on chip while a region runs, by the tensors of its slice.
std::vector<Resident> residents_of(const Program& given, size_t region, const RegionSlice& slice) {
  std::vector<Resident> found;
  for (const Resident& resident : residents(given)) {
    if (region < resident.written || region > resident.last) continue;
    const auto at = std::find(slice.tensors.begin(), slice.tensors.end(), resident.tensor);
    if (at == slice.tensors.end()) continue;
    const size_t written = resident.written < region ? 0 : kHere;
    found.push_back({static_cast<TensorId>(at - slice.tensors.begin()), written, kHere});
  }
  return found;
}

}  // namespace

RegionTrials::RegionTrials(const Program& given, const Program& lowered, size_t region,
                           const TensorData& data, const MachineWith& machine_with)
    : whole_(lowered),
      data_(data),
      machine_with_(machine_with),
      lowered_(slice_of(lowered, region)) {
  const std::string& name = lowered.regions[region].name;
  const auto same = [&](const Region& other) { return other.name == name; };
  const auto at = std::find_if(given.regions.begin(), given.regions.end(), same);
  if (at == given.regions.end() || at->graph || at->statements.empty()) return;
  const auto r = static_cast<size_t>(at - given.regions.begin());
  given_ = slice_of(given, r);
  kept_ = residents_of(given, r, *given_);
}

/// By name; nothing of what the region writes.
TensorData RegionTrials::data_of(const Program& slice) const {
  TensorData data;
  for (const Tensor& tensor : slice.tensors) {
    const TensorId whole = find_tensor(whole_, tensor.name);
    const auto t = static_cast<size_t>(std::max(0, whole));
    data.storage.push_back(whole < 0 || t >= data_.storage.size() ? nullptr : data_.storage[t]);
  }
  for (const Node& node : slice.regions[0].graph->nodes) {
    if (node.tensor >= 0 && writes_tensor(node.kind)) {
      data.storage[static_cast<size_t>(node.tensor)] = nullptr;
    }
  }
  return data;
}

std::optional<RegionTrials::Variant> RegionTrials::make(const Remedy& change) const {
  return unless_refused([&]() -> std::optional<Variant> {
    Variant variant{machine_with_(change.settings), std::nullopt, {}};
    if (!change.pass.empty()) {
      if (!given_) return std::nullopt;
      PassArguments arguments;
      arguments.machine = variant.machine;
      for (const auto& [option, value] : change.arguments) {
        arguments.add(option, value.empty() ? "true" : value);
      }
      PassLog log;
      Program changed = run_pass(find_pass(change.pass), given_->program, arguments, log);
      if (changed.regions.size() != 1) return std::nullopt;  // copies of what it reads, say
      if (!changed.regions[0].graph) {
        changed.regions[0].graph = lower_region(changed, 0);
        keep_residents(kept_, kHere, *changed.regions[0].graph);
      }
      variant.changed = std::move(changed);
    }
    const Program& program = program_of(variant);
    const Region& region = program.regions[0];
    check_fits(program, region, variant.machine);
    variant.data = data_of(program);
    return variant;
  });
}

std::optional<double> RegionTrials::estimate(const Remedy& change) const {
  const std::optional<Variant> variant = make(change);
  if (!variant) return std::nullopt;
  return unless_refused([&]() -> std::optional<double> {
    const Program& program = program_of(*variant);
    return estimate_region(program, program.regions[0], variant->data, variant->machine).cycles;
  });
}

std::optional<double> RegionTrials::simulate(const Remedy& change,
                                             const RunOptions& options) const {
  const std::optional<Variant> variant = make(change);
  if (!variant) return std::nullopt;
  return unless_refused([&]() -> std::optional<double> {
    const Program& program = program_of(*variant);
    const RunResult run =
        run_graph(program, *program.regions[0].graph, variant->data, variant->machine, options);
    if (run.finish != Finish::done) return std::nullopt;
    return static_cast<double>(run.cycles);
  });
}

}  // namespace fuseflow
