#include "explore/whole_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "estimate/pass_costs.h"
#include "ir/copies.h"
#include "lower/lower.h"
#include "passes/pass_on_chip.h"
#include "passes/reused_inputs.h"
#include "sim/common/energy_of_run.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

Amounts amounts_of(const Program& lowered, const ProgramRun& run, const Machine& machine) {
  Amounts amounts;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Graph& graph = *lowered.regions[r].graph;
    const RunResult& region = run.regions[r];
    amounts.energy_pj += std::round(
        region_energy(lowered, graph, machine, work_of_run(graph, machine, region)).total_pj);
    amounts.dram_bytes += static_cast<double>(region.dram_read_bytes + region.dram_write_bytes);
    if (r > 0) amounts += pause_of(machine);
  }
  amounts.cycles = static_cast<double>(total_cycles(run, machine));
  return amounts;
}

/// What a program takes; nothing if it was interrupted.
std::optional<Amounts> simulate(const Program& program, const Machine& machine, int threads) {
  if (interrupted()) return std::nullopt;
  const Program lowered = lower_program(program);
  RunOptions options;
  options.threads = threads;
  options.cancel = &interrupt_flag();
  const ProgramRun run = run_program(lowered, load_tensors(lowered, {}, threads), machine, options);
  if (run.finish == Finish::cancelled) return std::nullopt;
  if (run.finish != Finish::done) {
    throw Error(ExitCode::internal, "the best program does not finish, though its regions do");
  }
  return amounts_of(lowered, run, machine);
}

/// Its regions were simulated alone, on results of the unfused program, which differ from theirs by
/// rounding.
void confirm(SearchResult& result, const Machine& machine, int threads) {
  const std::optional<Amounts> whole = simulate(*result.program, machine, threads);
  if (!whole || whole->cycles == result.best.cycles) return;
  const bool copies = std::any_of(
      result.program->regions.begin(), result.program->regions.end(),
      [&](const Region& region) { return !copies_read(*result.program, region).empty(); });
  result.notes.push_back(fmt::format(
      "the best program takes {:.0f} cycles as a whole, its regions alone {:.0f}: {}",
      whole->cycles, result.best.cycles,
      copies ? "the copies that they read were estimated" : "what they read differs in rounding"));
  result.best.cycles = whole->cycles;
  if (copies) result.best = *whole;
}

/// A point is a region by itself, so no point leaves anything on chip for another.
void keep_on_chip(SearchResult& result, const Machine& machine, int threads) {
  EstimatedCosts costs(machine);
  PassLog log;
  Program staying = keep_reused_inputs(*result.program, machine, costs, log);
  staying = pass_on_chip(std::move(staying), machine, costs, log);
  if (log.lines().empty()) return;
  const std::optional<Amounts> whole = simulate(staying, machine, threads);
  if (!whole || whole->cycles >= result.best.cycles) return;
  for (const std::string& line : log.lines()) result.notes.push_back(line);
  result.notes.push_back(
      fmt::format("with what stays on chip the best program takes {:.0f} cycles "
                  "instead of {:.0f}, the sum of its regions alone",
                  whole->cycles, result.best.cycles));
  result.program = std::move(staying);
  result.best = *whole;
}

}  // namespace

void finish_best(SearchResult& result, const Machine& machine, int threads) {
  if (!result.program) return;
  confirm(result, machine, threads);
  if (result.objective == Objective::cycles) keep_on_chip(result, machine, threads);
}

}  // namespace fuseflow
