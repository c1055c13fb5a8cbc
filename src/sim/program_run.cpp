#include "sim/program_run.h"

#include <fmt/format.h>

#include <algorithm>
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
                         node.kind == NodeKind::array || node.kind == NodeKind::tile_load;
      if (reads && node.tensor >= 0) read[static_cast<size_t>(node.tensor)] = true;
    }
  }
  return read;
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
  if (region.graph->tiles) return;  // of cores, which sim/tiles checks
  const std::string why = why_too_large(program, region, *region.graph, machine);
  if (!why.empty()) throw Error(ExitCode::rejected, region.where, why);
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
