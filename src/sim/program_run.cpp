#include "sim/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "ir/copies.h"
#include "ir/names.h"
#include "ir/slice.h"
#include "nodes/rule.h"
#include "resources/resources.h"
#include "sim/common/written_tensors.h"
#include "support/latest.h"
#include "support/on_threads.h"
#include "support/stop.h"

namespace fuseflow {
namespace {

void mark_read(const std::vector<Statement>& statements, std::vector<bool>& read) {
  for (const Statement& statement : statements) {
    for (const Expr& expr : statement.nodes) {
      if (expr.kind == Expr::Kind::access) read[expr.tensor] = true;
    }
  }
}

/// Also what only checks read.
std::vector<bool> tensors_read(const Program& program) {
  std::vector<bool> read(program.tensors.size(), false);
  mark_read(program.reference.statements, read);
  for (const Region& region : program.regions) {
    mark_read(region.statements, read);
    if (!region.graph) continue;
    for (const Node& node : region.graph->nodes) {
      if (!loads_data(node.kind)) continue;
      for_tensors(node, [&](TensorId tensor) { read[tensor] = true; });
    }
  }
  for (size_t t = 0; t < read.size(); ++t) {  // what copies are made of
    if (read[t]) read[original_of(program, static_cast<TensorId>(t))] = true;
  }
  return read;
}

Diagnostic source_note(const Tensor& tensor) {
  return {Severity::note, tensor.where,
          fmt::format("this is the source of %{}", quote_if_needed(tensor.name)), ""};
}

std::shared_ptr<const Storage> load_tensor(const Tensor& tensor, const LoadOptions& options) {
  if (tensor.source.kind == Source::Kind::none) {
    throw Error(ExitCode::rejected, tensor.where,
                fmt::format("%{} is not bound to data, expected a source such as "
                            "`= file(\"{}.npy\")`, or `--bind {}=FILE`",
                            quote_if_needed(tensor.name), tensor.name, tensor.name));
  }
  try {
    LoadOptions own = options;
    own.element = tensor.type;
    return load_shared(tensor.source, known_shape(tensor), tensor.format, tensor.fill, own);
  } catch (Stopped& stopped) {
    stopped.add_note(source_note(tensor));
    throw;
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.push_back(source_note(tensor));
    throw Error(error.code(), std::move(diagnostics));
  }
}

/// About how many entries a tensor has, as far as that is known without loading it.
double expected_entries(const Tensor& tensor) {
  if (tensor.source.nnz) return static_cast<double>(*tensor.source.nnz);
  double entries = 1;
  for (const Extent& extent : tensor.shape) entries *= static_cast<double>(extent.value);
  for (const auto& [key, value] : tensor.source.params) {
    if (key == "density") entries *= std::strtod(value.c_str(), nullptr);
    if (key == "edges") return std::strtod(value.c_str(), nullptr);
  }
  return entries;
}

/// How many threads are worth starting to load tensors side by side.
int worthwhile_threads(const Program& program, const std::vector<size_t>& wanted) {
  constexpr double kMany = 1 << 16;  // entries
  return static_cast<int>(std::count_if(wanted.begin(), wanted.end(), [&](size_t t) {
    return expected_entries(program.tensors[t]) >= kMany;
  }));
}

/// Loads tensors side by side, the largest first. Of several problems the first in program order is
/// thrown.
void load_on_threads(const Program& program, std::vector<size_t> wanted, const LoadOptions& options,
                     int threads, TensorData& data) {
  std::stable_sort(wanted.begin(), wanted.end(), [&](size_t a, size_t b) {
    return expected_entries(program.tensors[a]) > expected_entries(program.tensors[b]);
  });
  std::vector<std::exception_ptr> problems(program.tensors.size());
  std::atomic<size_t> next = 0;
  on_threads(threads, [&] {
    for (size_t i = next++; i < wanted.size(); i = next++) {
      const size_t t = wanted[i];
      try {
        data.storage[t] = load_tensor(program.tensors[t], options);
      } catch (...) {
        problems[t] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
}

/// Runs the graph of the only region of a slice; what is found to be wrong with it (Error(rejected)
/// without a place) is reported with the region.
RunResult run_named(const Program& slice, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options) {
  try {
    for (const Node& node : graph.nodes) {
      const bool writes = node.kind == NodeKind::write_values;
      if (writes) check_places(slice.tensors[static_cast<size_t>(node.tensor)]);
    }
    return run_graph(slice, graph, data, machine, options);
  } catch (const Error& error) {
    const bool placed = !error.diagnostics()[0].where.file.empty();
    if (error.code() != ExitCode::rejected || placed) throw;
    const Region& region = slice.regions[0];
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{}: {}", quote_if_needed(region.name),
                            error.diagnostics()[0].message));
  }
}

/// Runs a region with the tensors that it touches alone; what it writes is stored in `data`.
RunResult run_region(const Program& program, size_t region, TensorData& data,
                     const Machine& machine, const RunOptions& options) {
  const RegionSlice slice = slice_region(program, region, nullptr);
  TensorData seen;
  for (const TensorId tensor : slice.tensors) {
    seen.storage.push_back(data.storage[tensor]);
  }
  RunResult result =
      run_named(slice.program, *slice.program.regions[0].graph, seen, machine, options);
  for (auto& [tensor, storage] : result.results) {
    tensor = slice.whole(tensor);
    data.storage[tensor] = storage;
  }
  return result;
}

}  // namespace

TensorData load_tensors(const Program& program, const LoadOptions& options, int threads) {
  const std::vector<bool> read = tensors_read(program);
  TensorData data;
  data.storage.resize(program.tensors.size());
  std::vector<size_t> wanted;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Role role = program.tensors[t].role;
    if (read[t] && is_given(role)) wanted.push_back(t);
  }
  threads = std::min(threads, worthwhile_threads(program, wanted));
  if (threads > 1) {
    load_on_threads(program, wanted, options, threads, data);
  } else {
    for (const size_t t : wanted) data.storage[t] = load_tensor(program.tensors[t], options);
  }
  return data;
}

void check_fits(const Program& program, const Region& region, const Machine& machine) {
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
  int64_t ended = 0;  // cycle up to which there have been regions, and pauses before them
  int64_t held = 0;   // bytes of their results
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (r > 0) ended += machine.reconfiguration_cycles;
    if (before) before(r, ended);
    if (options.max_cycles > 0) {
      left.max_cycles = std::max<int64_t>(1, options.max_cycles - ended);
    }
    if (options.max_memory_bytes > 0) {
      left.max_memory_bytes = std::max<int64_t>(1, options.max_memory_bytes - held);
    }
    if (options.max_seconds > 0) left.max_seconds = std::max(1e-9, options.max_seconds - elapsed());
    RunResult& result = run.regions.emplace_back(run_region(program, r, run.data, machine, left));
    ended += result.cycles;
    const bool late = options.max_cycles > 0 && ended > options.max_cycles;
    if (late && result.finish == Finish::done) result.finish = Finish::max_cycles;
    for (const auto& [tensor, storage] : result.results) {
      held += storage_bytes(program, tensor, *storage);
    }
    run.finish = result.finish;
    if (ended > kLatest) {
      throw Error(ExitCode::unfinished, program.regions[r].where,
                  fmt::format("the program takes more cycles than can be counted: with those "
                              "between regions, {} until the end of region @{}",
                              ended, quote_if_needed(program.regions[r].name)));
    }
    if (run.finish != Finish::done) break;
  }
  run.seconds = elapsed();
  return run;
}

}  // namespace fuseflow
