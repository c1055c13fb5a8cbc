// Estimates on random programs: from the data, FLOPs, tokens and bytes of every region that no
// filter decides equal the simulator's; the bounds never exceed its cycles, energy and bytes, on an
// unbounded and on a tight machine; nor do those of the whole program, of which the patterns of
// intermediates are estimates themselves. `estimate_property --count N --seed S`.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "check.h"
#include "estimate/estimate.h"
#include "lower/region_indices.h"
#include "machine/load.h"
#include "random_joins.h"
#include "recipe.h"
#include "seeded_main.h"
#include "sim/common/energy_of_run.h"

namespace fuseflow::testing {
namespace {

struct Tally {
  int programs = 0;
  int refused = 0;
  int regions = 0;
  int certain = 0;
  int failures = 0;
};

Machine tight_machine() {
  Machine machine;
  machine.fifo_depth = 2;
  for (UnitTiming& unit : machine.units) unit.latency_cycles = 3;
  machine.timing(UnitClass::alu).interval_cycles = 2;
  machine.accumulate_drain_interval_cycles = 2;
  return machine;
}

/// The machine with the prices and sizes of a preset.
Machine priced(Machine machine) {
  static const Machine rda = load_machine("rda");
  machine.energy = rda.energy;
  machine.area = rda.area;
  machine.has_energy = machine.has_area = true;
  return machine;
}

void expect(bool holds, const std::string& what, uint64_t seed, const Region& region,
            const Program& program, Tally& tally) {
  if (holds) return;
  if (++tally.failures <= 3) {
    fmt::print("seed {}, region @{}: {}\n{}\n", seed, region.name, what,
               tally.failures == 1 ? print_program(program) : std::string());
  }
}

void compare_region(uint64_t seed, const Program& program, const Region& region,
                    const TensorData& data, const Machine& machine, const RunResult& run,
                    Tally& tally) {
  const RegionEstimate e = estimate_region(program, region, data, machine);
  ++tally.regions;
  const auto equal = [&](const char* what, double estimated, int64_t real, double tolerance) {
    const double off = std::abs(estimated - static_cast<double>(real));
    expect(off <= tolerance * static_cast<double>(real),
           fmt::format("{}: estimated {}, simulated {}", what, estimated, real), seed, region,
           program, tally);
  };
  expect(e.bound <= static_cast<double>(run.cycles),
         fmt::format("bound {} above {} cycles", e.bound, run.cycles), seed, region, program,
         tally);
  const double energy =
      region_energy(program, *region.graph, machine, work_of_run(*region.graph, machine, run))
          .total_pj;
  expect(e.energy_bound_pj <= energy * (1 + 1e-12),
         fmt::format("bound {} above {} pJ", e.energy_bound_pj, energy), seed, region, program,
         tally);
  const auto moved = static_cast<double>(run.dram_read_bytes + run.dram_write_bytes);
  expect(e.dram_bytes_bound <= moved,
         fmt::format("bound {} above {} bytes of memory", e.dram_bytes_bound, moved), seed, region,
         program, tally);
  if (!e.certain) return;
  ++tally.certain;
  expect(e.dram_bytes_bound + e.area_mm2 > 0, "nothing of memory or area is known", seed, region,
         program, tally);
  equal("flops", e.flops, run.flops, 0);
  equal("tokens", e.tokens, run.tokens, 0);
  equal("writes", e.dram_write_bytes + e.scratchpad_write_bytes,
        run.dram_write_bytes + run.scratchpad_write_bytes, 0);
}

/// Parallel copies of one loop of each region, where that is possible.
void add_copies(Program& program, uint64_t seed) {
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const RegionIndices indices = region_indices(program, r);
    if (indices.indices.empty()) continue;
    Region& region = program.regions[r];
    const std::string& name = indices.indices[(seed / 3) % indices.indices.size()].name;
    region.schedule.parallel = {{name, 2 + static_cast<int64_t>(seed % 4), seed % 2 == 0}};
    try {
      lower_region(program, r);
    } catch (const Error&) {
      region.schedule.parallel.clear();
    }
  }
}

/// What the regions write is estimated, too: the bounds are below the simulation.
void compare_program(uint64_t seed, const Program& program, const Inputs& inputs,
                     const Machine& machine, const std::vector<RunResult>& runs, Tally& tally) {
  TensorData data{inputs};
  data.storage.resize(program.tensors.size());
  const ProgramEstimate estimate = estimate_from_data(program, data, machine);
  for (size_t r = 0; r < runs.size(); ++r) {
    const RegionEstimate& e = estimate.regions[r];
    const RunResult& run = runs[r];
    const auto moved = static_cast<double>(run.dram_read_bytes + run.dram_write_bytes);
    expect(e.bound <= static_cast<double>(run.cycles),
           fmt::format("bound of the program {} above {} cycles", e.bound, run.cycles), seed,
           program.regions[r], program, tally);
    expect(e.dram_bytes_bound <= moved,
           fmt::format("bound of the program {} above {} bytes", e.dram_bytes_bound, moved), seed,
           program.regions[r], program, tally);
    const double energy = region_energy(program, *program.regions[r].graph, machine,
                                        work_of_run(*program.regions[r].graph, machine, run))
                              .total_pj;
    expect(e.energy_bound_pj <= energy * (1 + 1e-12),
           fmt::format("bound of the program {} above {} pJ", e.energy_bound_pj, energy), seed,
           program.regions[r], program, tally);
    expect(!e.certain || e.tokens == static_cast<double>(run.tokens),
           fmt::format("{} tokens of the program, simulated {}", e.tokens, run.tokens), seed,
           program.regions[r], program, tally);
  }
}

void try_program(uint64_t seed, Tally& tally) {
  Recipe recipe = generate_recipe(seed);
  Program program = recipe.program;
  ++tally.programs;
  try {
    for (size_t r = 0; r < program.regions.size(); ++r) shuffle_order(program, r, seed + r);
    if (seed % 2 == 0) {
      for (size_t r = 0; r < program.regions.size(); ++r) add_joins(program, r, seed);
    }
    if (seed % 3 == 0) add_copies(program, seed);
    program = lower_program(std::move(program));
  } catch (const Error&) {
    ++tally.refused;
    return;
  }
  const Inputs inputs = load_inputs(program);  // also of copies that lowering made
  for (const Machine& machine : {priced(Machine{}), priced(tight_machine())}) {
    TensorData data{inputs};
    data.storage.resize(program.tensors.size());
    std::vector<RunResult> runs;
    for (const Region& region : program.regions) {
      TensorData before = data;
      RunOptions options;
      options.explain_deadlock = false;
      try {
        if (estimate_region(program, region, data, machine).tokens > 1e6) return;
      } catch (const Error& error) {
        tally.refused += error.code() == ExitCode::rejected ? 1 : 0;
        if (error.code() == ExitCode::rejected) return;
        expect(false, error.what(), seed, region, program, tally);
        return;
      }
      const RunResult run = interpret_graph(program, *region.graph, data, machine, options);
      if (run.finish != Finish::done) return;
      compare_region(seed, program, region, before, machine, run, tally);
      for (const auto& [tensor, storage] : run.results) {
        data.storage[static_cast<size_t>(tensor)] = storage;
      }
      runs.push_back(run);
    }
    compare_program(seed, program, inputs, machine, runs, tally);
  }
}

int run(uint64_t seed, uint64_t count) {
  Tally tally;
  for (uint64_t s = seed; s < seed + count; ++s) {
    try {
      try_program(s, tally);
    } catch (const std::exception& error) {
      fmt::print("seed {}: {}\n", s, error.what());
      ++tally.failures;
    }
  }
  fmt::print("{} programs, {} refused; {} regions, {} certain; {} failures\n", tally.programs,
             tally.refused, tally.regions, tally.certain, tally.failures);
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuseflow::testing

int main(int argc, char** argv) {
  return fuseflow::testing::seeded_main(argc, argv,
                                        "Estimates of random programs against the simulator.", 300,
                                        fuseflow::testing::run);
}
