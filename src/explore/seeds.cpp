#include "explore/seeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/pass_costs.h"
#include "ir/copies.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "passes/layers.h"
#include "passes/pass.h"
#include "passes/regroup.h"
#include "search/stream_kernels.h"
#include "search/whole_kernels.h"
#include "support/error.h"
#include "support/stop.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

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

Seed::Part part_of(const Program& kernels, const Program& program, const WholeKernels& whole) {
  const Region& region = program.regions[whole.regions.front()];
  if (!whole.are_a_run()) {
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} of the seed is not a run of consecutive kernels, which is "
                            "all that is searched",
                            quote_if_needed(region.name)));
  }
  Seed::Part part{whole.run().first, whole.run().last, region.schedule, true};
  if (has_tiles(region) || whole.regions.size() > 1) {
    part.schedule = {};
    part.planned = planned_run(kernels, program, whole.regions, whole.run());
    part.scheduled = false;
    return part;
  }
  part.scheduled = translate(kernels, program, part.schedule);
  if (part.scheduled) part.stored = stored_accesses(kernels, program, region);
  return part;
}

/// What fuse makes of a program by default.
Program fused(const Program& given, const Machine& machine, const SearchOptions& options) {
  PassArguments arguments;
  arguments.costs = estimated_costs();
  arguments.tiles = options.tiles;
  arguments.machine = machine;
  const int64_t copies = std::clamp<int64_t>(options.space.max_copies, 1, 65536);
  arguments.add("max-copies", fmt::format("{}", copies));
  PassLog unused;
  return run_pass(find_pass("fuse"), given, arguments, unused);
}

/// The seed's regions as runs of kernels; nothing where they are not.
std::optional<Seed> runs_of(const Program& kernels, const WholeSeed& seed) {
  Program program = without_copy_regions(seed.program);
  drop_residents(program);  // a point is a region that runs alone: what it reads is in memory
  return unless_refused(
      [&] { return std::optional<Seed>(given_seed(kernels, program, seed.name)); });
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

void add_automatic(const Program& kernels, const Machine& machine, const SearchOptions& options,
                   const KeptProgram& kept, Seeds& seeds) {
  const Program& given = options.given ? *options.given : kernels;
  if (seeds.runs.empty()) return;  // a program without kernels
  try {
    WholeSeed whole{"auto", kept("auto", given, [&] { return fused(given, machine, options); })};
    whole.program.strategy = given.strategy;
    const bool is_point =
        kernels.regions.size() < 2 && print_program(whole.program) == print_program(given);
    if (is_point) return;
    if (std::optional<Seed> runs = runs_of(kernels, whole)) seeds.runs.push_back(std::move(*runs));
    // Streams would be free where the machine has no units for them.
    if (machine.has_streams) seeds.wholes.push_back(std::move(whole));
  } catch (const Error& error) {
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
  Seed seed{name, {}};
  std::vector<bool> planned(kernels.regions.size());
  for (PlannedPart& part : planned_parts(kernels, std::move(program))) {
    const Interval run = part.kernels;
    for (size_t k = run.first; k <= run.last; ++k) planned[k] = true;
    seed.parts.push_back({run.first, run.last, {}, false, std::move(part.planned)});
  }
  if (seed.parts.empty()) return seed;
  for (size_t k = 0; k < planned.size(); ++k) {
    if (!planned[k]) seed.parts.push_back({k, k, {}, false});
  }
  std::sort(seed.parts.begin(), seed.parts.end(),
            [](const Seed::Part& a, const Seed::Part& b) { return a.first < b.first; });
  return seed;
}

}  // namespace fuseflow
