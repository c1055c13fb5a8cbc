#include "explore/seeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/pass_costs.h"
#include "ir/residency.h"
#include "passes/fuse.h"
#include "passes/layers.h"
#include "passes/regroup.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// The kernel that defines a value of this name; the number of kernels if none does.
size_t kernel_of(const Program& kernels, const std::string& value) {
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    for (const Statement& s : kernels.regions[k].statements) {
      if (kernels.tensors[static_cast<size_t>(s.result)].name == value) return k;
    }
  }
  return kernels.regions.size();
}

/// The schedule with the tensors of `kernels`; false if it names others (copies made for it).
bool translate(const Program& kernels, const Program& program, Schedule& schedule) {
  const auto translated = [&](TensorId& tensor) {
    if (tensor < 0) return true;
    tensor = find_tensor(kernels, program.tensors[static_cast<size_t>(tensor)].name);
    return tensor >= 0;
  };
  const auto all_translated = [&](std::vector<TensorId>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), translated);
  };
  return std::all_of(schedule.placements.begin(), schedule.placements.end(),
                     [&](UsePlacement& use) {
                       return translated(use.tensor) && translated(use.consumer);
                     }) &&
         std::all_of(schedule.joins.begin(), schedule.joins.end(),
                     [&](Join& join) { return all_translated(join.located); });
}

Seed::Part part_of(const Program& kernels, const Program& program, const Region& region) {
  std::vector<size_t> members;
  for (const Statement& s : region.statements) {
    const std::string& value = program.tensors[static_cast<size_t>(s.result)].name;
    members.push_back(kernel_of(kernels, value));
    if (members.back() == kernels.regions.size()) {
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("%{} is not computed by the program that is searched, expected a "
                              "seed made of the same kernels",
                              value));
    }
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.empty() || members.back() - members.front() + 1 != members.size()) {
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} of the seed is not a run of consecutive kernels, which is "
                            "all that is searched",
                            region.name));
  }
  Seed::Part part{members.front(), members.back(), region.schedule, true};
  if (region.graph && region.graph->tiles) {
    part.planned = planned_region(kernels, program, region, part.kernels());
    part.scheduled = false;
    return part;
  }
  part.scheduled = translate(kernels, program, part.schedule);
  return part;
}

/// What fuse --strategy=auto chooses, on this machine.
std::optional<Seed> auto_seed(const Program& kernels, const Machine& machine) {
  const bool graphs = std::any_of(kernels.regions.begin(), kernels.regions.end(),
                                  [](const Region& region) { return region.graph.has_value(); });
  if (graphs) return std::nullopt;
  try {
    EstimatedCosts costs(machine);
    Program fused = fuse_by_cost(kernels, machine, costs);
    drop_residents(fused);  // a point is a region that runs alone: what it reads is in memory
    const bool joined = std::any_of(fused.regions.begin(), fused.regions.end(),
                                    [](const Region& r) { return !r.schedule.joins.empty(); });
    if (kernels.regions.size() < 2 && !joined) return std::nullopt;  // it is a point anyway
    return given_seed(kernels, fused, "auto");
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    return std::nullopt;  // the machine cannot run it, or it has statements that no kernel has
  }
}

}  // namespace

std::vector<Seed> strategy_seeds(const Program& kernels, const Machine& machine) {
  std::vector<size_t> owner;  // the kernel of each statement, in program order
  const std::vector<Group> present = present_groups(kernels);
  for (size_t k = 0; k < present.size(); ++k) {
    for (const int s : present[k].statements) {
      owner.resize(std::max(owner.size(), static_cast<size_t>(s) + 1));
      owner[static_cast<size_t>(s)] = k;
    }
  }
  Seed none{"none", {}};
  Seed layer{"layer", {}};
  for (size_t k = 0; k < present.size(); ++k) none.parts.push_back({k, k, {}, false});
  for (const Group& group : layer_groups(kernels)) {
    const auto [least, most] =
        std::minmax_element(group.statements.begin(), group.statements.end());
    layer.parts.push_back(
        {owner[static_cast<size_t>(*least)], owner[static_cast<size_t>(*most)], {}, false});
  }
  if (present.empty()) return {};
  std::vector<Seed> seeds{none, layer, {"full", {{0, present.size() - 1, {}, false}}}};
  if (std::optional<Seed> automatic = auto_seed(kernels, machine)) {
    seeds.push_back(std::move(*automatic));
  }
  return seeds;
}

Seed given_seed(const Program& kernels, const Program& program, const std::string& name) {
  Seed seed{name, {}};
  for (const Region& region : program.regions) {
    seed.parts.push_back(part_of(kernels, program, region));
  }
  return seed;
}

Seed planned_seed(const Program& kernels, const Program& program, const std::string& name) {
  Seed seed{name, {}};
  for (const Region& region : program.regions) {
    if (!region.graph || !region.graph->tiles) continue;
    try {
      seed.parts.push_back(part_of(kernels, program, region));
    } catch (const Error& error) {  // runs of kernels in another order, or parts of a kernel
      if (error.code() != ExitCode::rejected) throw;
    }
  }
  if (seed.parts.empty()) return seed;
  std::vector<bool> planned(kernels.regions.size());
  for (const Seed::Part& part : seed.parts) {
    for (size_t k = part.first; k <= part.last; ++k) planned[k] = true;
  }
  for (size_t k = 0; k < planned.size(); ++k) {
    if (!planned[k]) seed.parts.push_back({k, k, {}, false});
  }
  std::sort(seed.parts.begin(), seed.parts.end(),
            [](const Seed::Part& a, const Seed::Part& b) { return a.first < b.first; });
  return seed;
}

}  // namespace fuseflow
