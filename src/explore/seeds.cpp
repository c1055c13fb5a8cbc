#include "explore/seeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/pass_costs.h"
#include "ir/copies.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "passes/layers.h"
#include "passes/pass.h"
#include "passes/regroup.h"
#include "support/error.h"
#include "support/stop.h"

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
    const Tensor& named = program.tensors[static_cast<size_t>(original_of(program, tensor))];
    tensor = find_tensor(kernels, named.name);
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

const Statement* find_statement(const Program& kernels, const std::string& result) {
  for (const Region& region : kernels.regions) {
    for (const Statement& s : region.statements) {
      if (kernels.tensors[static_cast<size_t>(s.result)].name == result) return &s;
    }
  }
  return nullptr;
}

/// The accesses of a region to copies that the kernels do not read there.
std::vector<StoredAccess> stored_accesses(const Program& kernels, const Program& program,
                                          const Region& region) {
  std::vector<StoredAccess> found;
  for (const Statement& s : region.statements) {
    const Statement* kernel =
        find_statement(kernels, program.tensors[static_cast<size_t>(s.result)].name);
    if (kernel == nullptr || kernel->nodes.size() != s.nodes.size()) continue;
    for (size_t n = 0; n < s.nodes.size(); ++n) {
      if (s.nodes[n].kind != Expr::Kind::access || kernel->nodes[n].kind != s.nodes[n].kind)
        continue;
      const Tensor& read = program.tensors[static_cast<size_t>(s.nodes[n].tensor)];
      const Tensor& given = kernels.tensors[static_cast<size_t>(kernel->nodes[n].tensor)];
      if (read.source.kind == Source::Kind::none || read.format == given.format) continue;
      if (read.source == given.source) found.push_back({kernel->result, n, read.format});
    }
  }
  return found;
}

/// Regions of a program that make up whole kernels together: one, or several parts of a kernel and
/// what stands in one region with one of them.
struct WholeKernels {
  std::vector<size_t> regions;
  std::vector<size_t> kernels;
};

/// The kernels of which the region has statements, ascending.
std::vector<size_t> kernels_of(const Program& kernels, const Program& program,
                               const Region& region) {
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
  return members;
}

/// In the order of their first regions.
std::vector<WholeKernels> wholes_of(const Program& kernels, const Program& program) {
  std::vector<WholeKernels> wholes;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    WholeKernels whole{{r}, kernels_of(kernels, program, program.regions[r])};
    const auto shares = [&](const WholeKernels& other) {
      return std::any_of(other.kernels.begin(), other.kernels.end(), [&](size_t k) {
        return std::binary_search(whole.kernels.begin(), whole.kernels.end(), k);
      });
    };
    auto into = std::stable_partition(wholes.begin(), wholes.end(),
                                      [&](const WholeKernels& other) { return !shares(other); });
    for (auto other = into; other != wholes.end(); ++other) {
      whole.regions.insert(whole.regions.end(), other->regions.begin(), other->regions.end());
      whole.kernels.insert(whole.kernels.end(), other->kernels.begin(), other->kernels.end());
    }
    wholes.erase(into, wholes.end());
    std::sort(whole.regions.begin(), whole.regions.end());
    std::sort(whole.kernels.begin(), whole.kernels.end());
    whole.kernels.erase(std::unique(whole.kernels.begin(), whole.kernels.end()),
                        whole.kernels.end());
    wholes.push_back(std::move(whole));
  }
  std::sort(wholes.begin(), wholes.end(),
            [](const WholeKernels& a, const WholeKernels& b) { return a.regions < b.regions; });
  return wholes;
}

bool has_tiles(const Region& region) {
  return region.graph && region.graph->tiles;
}

Seed::Part part_of(const Program& kernels, const Program& program, const WholeKernels& whole) {
  const Region& region = program.regions[whole.regions.front()];
  const std::vector<size_t>& members = whole.kernels;
  if (members.empty() || members.back() - members.front() + 1 != members.size()) {
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} of the seed is not a run of consecutive kernels, which is "
                            "all that is searched",
                            region.name));
  }
  Seed::Part part{members.front(), members.back(), region.schedule, true};
  if (has_tiles(region) || whole.regions.size() > 1) {
    part.planned = planned_run(kernels, program, whole.regions, part.kernels());
    part.scheduled = false;
    return part;
  }
  part.scheduled = translate(kernels, program, part.schedule);
  if (part.scheduled) part.stored = stored_accesses(kernels, program, region);
  return part;
}

/// What fuse makes of a program by default.
Program fused(const Program& given, const Machine& machine) {
  PassArguments arguments;
  arguments.costs = estimated_costs();
  arguments.machine = machine;
  PassLog unused;
  return run_pass(find_pass("fuse"), given, arguments, unused);
}

/// The seed's regions as runs of kernels; nothing where they are not.
std::optional<Seed> runs_of(const Program& kernels, const WholeSeed& seed) {
  Program program = without_copy_regions(seed.program);
  drop_residents(program);  // a point is a region that runs alone: what it reads is in memory
  try {
    return given_seed(kernels, program, seed.name);
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    return std::nullopt;
  }
}

}  // namespace

Seeds strategy_seeds(const Program& kernels) {
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
  return {{none, layer, {"full", {{0, present.size() - 1, {}, false}}}}, {}, {}};
}

void add_automatic(const Program& kernels, const Program& given, const Machine& machine,
                   const KeptProgram& kept, Seeds& seeds) {
  if (seeds.runs.empty()) return;  // a program without kernels
  try {
    WholeSeed whole{"auto", kept("auto", given, [&] { return fused(given, machine); })};
    whole.program.strategy = given.strategy;
    const bool is_point =
        kernels.regions.size() < 2 && print_program(whole.program) == print_program(given);
    if (is_point) return;
    if (std::optional<Seed> runs = runs_of(kernels, whole)) seeds.runs.push_back(std::move(*runs));
    // Streams would be free where the machine has no units for them.
    if (machine.has_streams) seeds.wholes.push_back(std::move(whole));
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    seeds.notes.push_back(
        fmt::format("there is no seed auto: fuseflow-fuse refuses the program: {}", error.what()));
  }
}

std::vector<Seed> given_runs(const Program& kernels, const std::vector<WholeSeed>& seeds) {
  std::vector<Seed> found;
  for (const WholeSeed& seed : seeds) {
    if (std::optional<Seed> runs = runs_of(kernels, seed)) found.push_back(std::move(*runs));
  }
  return found;
}

Seed given_seed(const Program& kernels, const Program& program, const std::string& name) {
  Seed seed{name, {}};
  for (const WholeKernels& whole : wholes_of(kernels, program)) {
    seed.parts.push_back(part_of(kernels, program, whole));
  }
  return seed;
}

Seed planned_seed(const Program& kernels, Program program, const std::string& name) {
  std::erase_if(program.regions, [&](const Region& region) {
    return std::any_of(region.statements.begin(), region.statements.end(), [&](const Statement& s) {
      const auto result = static_cast<size_t>(s.result);
      return kernel_of(kernels, program.tensors[result].name) == kernels.regions.size();
    });
  });
  Seed seed{name, {}};
  for (const WholeKernels& whole : wholes_of(kernels, program)) {
    if (!has_tiles(program.regions[whole.regions.front()])) continue;
    try {
      seed.parts.push_back(part_of(kernels, program, whole));
    } catch (const Error& error) {  // runs of kernels in another order, or parts not planned
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
