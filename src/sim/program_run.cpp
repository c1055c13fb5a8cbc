#include "sim/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace fuseflow {
namespace {

std::vector<bool> tensors_read(const Program& program) {
  std::vector<bool> read(program.tensors.size(), false);
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      for (const Expr& expr : statement.nodes) {
        if (expr.kind == Expr::Kind::access) read[static_cast<size_t>(expr.tensor)] = true;
      }
    }
    if (!region.graph) continue;
    for (const Node& node : region.graph->nodes) {
      const bool reads = node.kind == NodeKind::scan || node.kind == NodeKind::locate ||
                         node.kind == NodeKind::array;
      if (reads && node.tensor >= 0) read[static_cast<size_t>(node.tensor)] = true;
    }
  }
  return read;
}

int64_t bytes_of(const Tensor& tensor, const Storage* storage) {
  if (storage != nullptr) return storage->bytes();
  int64_t elements = 1;  // not known yet: every element present
  for (const int64_t extent : known_shape(tensor)) {
    if (__builtin_mul_overflow(elements, extent, &elements)) return INT64_MAX;
  }
  return elements * element_bytes(tensor.type);
}

}  // namespace

TensorData load_tensors(const Program& program, const LoadOptions& options) {
  const std::vector<bool> read = tensors_read(program);
  TensorData data;
  data.storage.resize(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    const bool given = tensor.role == Role::input || tensor.role == Role::constant;
    if (!read[t] || !given) continue;
    if (tensor.source.kind == Source::Kind::none) {
      throw Error(ExitCode::rejected, tensor.where,
                  fmt::format("%{} is not bound to data, expected a source such as "
                              "`= file(\"{}.npy\")`; `fuseflow-import --bind {}=FILE` gives one",
                              tensor.name, tensor.name, tensor.name));
    }
    try {
      data.storage[t] = std::make_shared<const Storage>(
          load(tensor.source, known_shape(tensor), tensor.format, tensor.fill, options));
    } catch (const Error& error) {
      if (error.code() == ExitCode::io || error.code() == ExitCode::internal) throw;
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      diagnostics.push_back({Severity::note, tensor.where,
                             fmt::format("this is the source of %{}", tensor.name), ""});
      throw Error(error.code(), std::move(diagnostics));
    }
  }
  return data;
}

void check_fits(const Program& program, const Region& region, const Machine& machine) {
  const Graph& graph = *region.graph;
  const size_t phases = machine.phases_hold_units_together || graph.nodes.empty()
                            ? 1
                            : static_cast<size_t>(graph.nodes.back().phase) + 1;
  std::vector<std::array<int64_t, kUnitClasses>> used(phases);
  for (const Node& node : graph.nodes) {
    // Phases that start together hold their units together.
    const size_t phase =
        phases == 1 ? 0 : static_cast<size_t>(graph.last_started_with(node.phase));
    ++used.at(phase).at(static_cast<size_t>(unit_class(node.kind)));
  }
  for (int u = 0; u < kUnitClasses; ++u) {
    const auto unit = static_cast<UnitClass>(u);
    const int64_t count = machine.timing(unit).count;
    for (const auto& phase : used) {
      const int64_t needed = phase[static_cast<size_t>(u)];
      if (count == 0 || needed <= count) continue;
      throw Error(ExitCode::rejected, region.where,
                  fmt::format("region @{} needs {} {} units, machine {} has {}; split the region, "
                              "or set units.{}.count",
                              region.name, needed, unit_class_name(unit), machine.name, count,
                              unit_class_name(unit)));
    }
  }
  int64_t bytes = 0;
  for (const TensorId t : graph.scratchpad) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    if (__builtin_add_overflow(bytes, bytes_of(tensor, nullptr), &bytes)) bytes = INT64_MAX;
  }
  if (machine.scratchpad.bytes == 0 || bytes <= machine.scratchpad.bytes) return;
  throw Error(ExitCode::rejected, region.where,
              fmt::format("region @{} holds up to {} bytes in the scratchpad, machine {} has {}; "
                          "place less of it there, or set scratchpad.bytes",
                          region.name, bytes, machine.name, machine.scratchpad.bytes));
}

ProgramRun run_program(const Program& program, TensorData data, const Machine& machine,
                       const RunOptions& options,
                       const std::function<void(size_t, int64_t)>& before) {
  ProgramRun run;
  run.data = std::move(data);
  run.data.storage.resize(program.tensors.size());
  for (const Region& region : program.regions) check_fits(program, region, machine);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  RunOptions left = options;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    const int64_t first_cycle =
        total_cycles(run, machine) + (r > 0 ? machine.reconfiguration_cycles : 0);
    if (before) before(r, first_cycle);
    if (options.max_cycles > 0) {
      left.max_cycles = std::max<int64_t>(1, options.max_cycles - total_cycles(run, machine));
    }
    if (options.max_seconds > 0) left.max_seconds = std::max(1e-9, options.max_seconds - elapsed());
    run.regions.push_back(run_graph(program, *program.regions[r].graph, run.data, machine, left));
    RunResult& result = run.regions.back();
    for (const auto& [tensor, storage] : result.results) {
      run.data.storage[static_cast<size_t>(tensor)] = storage;
    }
    run.finish = result.finish;
    if (run.finish != Finish::done) break;
  }
  run.seconds = elapsed();
  return run;
}

int64_t total_cycles(const ProgramRun& run, const Machine& machine) {
  int64_t cycles = 0;
  for (const RunResult& result : run.regions) cycles += result.cycles;
  const auto regions = static_cast<int64_t>(run.regions.size());
  return cycles + std::max<int64_t>(0, regions - 1) * machine.reconfiguration_cycles;
}

}  // namespace fuseflow
