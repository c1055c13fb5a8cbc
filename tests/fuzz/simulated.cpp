#include "simulated.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "resources/resources.h"
#include "same_run.h"
#include "sim/naive/interpret.h"
#include "sim/program_run.h"
#include "support/error.h"

namespace fuseflow::fuzz {

namespace {

constexpr int64_t kMostElements = 1 << 14;  // of all tensors
constexpr int64_t kMostExtent = 512;        // of a loop
constexpr size_t kMostNodes = 80;

struct Outcome {
  RunResult run;
  bool refused = false;
};

Outcome run(const Program& program, const Graph& graph, const TensorData& data,
            const Machine& machine, Executor executor, int threads) {
  RunOptions options;
  options.executor = executor;
  options.threads = threads;
  options.max_cycles = 200'000;
  options.max_seconds = 10;
  options.max_memory_bytes = 256 << 20;
  options.explain_deadlock = false;
  Outcome outcome;
  try {
    outcome.run = run_graph(program, graph, data, machine, options);
  } catch (const Error& error) {
    if (error.code() != ExitCode::rejected) throw;
    outcome.refused = true;
  }
  return outcome;
}

bool ended_itself(const Outcome& outcome) {
  return outcome.refused || outcome.run.finish == Finish::done ||
         outcome.run.finish == Finish::deadlock;
}

}  // namespace

bool is_small(const Program& program, bool files) {
  int64_t elements = 0;
  for (const Tensor& tensor : program.tensors) {
    using Kind = Source::Kind;
    if (!files && (tensor.source.kind == Kind::file || tensor.source.kind == Kind::onnx))
      return false;
    int64_t size = 1;
    for (const Extent& extent : tensor.shape) {
      if (extent.value < 0 || extent.value > kMostElements) return false;
      size *= std::max<int64_t>(1, extent.value);
      if (size > kMostElements) return false;
    }
    elements += size;
  }
  for (const Region& region : program.regions) {
    if (!region.graph || region.graph->nodes.size() > kMostNodes) return false;
    for (const Node& node : region.graph->nodes) {
      if (node.capacity > 1 << 20) return false;
    }
    for (const GraphIndex& index : region.graph->indices) {
      if (index.extent > kMostExtent || index.block > kMostExtent) return false;
    }
  }
  return elements <= kMostElements;
}

void simulate(const Program& program, Random& random) {
  TensorData data = load_tensors(program);
  data.storage.resize(program.tensors.size());
  Machine machine;
  machine.fifo_depth = std::vector<int64_t>{0, 0, 1, 2, 3, 8}[below(random, 6)];
  for (const Region& region : program.regions) {
    if (!why_too_large(program, region, *region.graph, machine).empty()) return;
    if (region.graph->tiles) {  // one executor
      run(program, *region.graph, data, machine, Executor::fast, 1);
      return;
    }
    const Outcome naive = run(program, *region.graph, data, machine, Executor::naive, 1);
    const int threads = static_cast<int>(1 + below(random, 2));
    const Outcome fast = run(program, *region.graph, data, machine, Executor::fast, threads);
    if (!ended_itself(naive) || !ended_itself(fast)) return;
    if (naive.refused != fast.refused) __builtin_trap();
    if (naive.refused) return;
    const std::string differs = testing::difference(naive.run, fast.run);
    if (!differs.empty()) {
      std::fprintf(stderr, "the executors differ: %s\n", differs.c_str());
      __builtin_trap();
    }
    if (naive.run.finish != Finish::done) return;
    for (const auto& [tensor, storage] : naive.run.results) {
      data.storage[static_cast<size_t>(tensor)] = storage;
    }
  }
}

}  // namespace fuseflow::fuzz
