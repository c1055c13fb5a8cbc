// Speed of the simulator: tokens, cycles and memory requests a second, and how much slower than the
// same sparse arithmetic done natively on the same data in the same process (`native_ratio`).
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "lower/lower.h"
#include "sim/program_run.h"
#include "support/heap.h"

namespace fuseflow {
namespace {

struct Case {
  Program program;
  TensorData data;
};

Case make_case(const std::string& tensors, const std::string& region) {
  const std::string text =
      "fuseflow 1\nprogram \"bench\"\n" + tensors + "region @Y {\n" + region + "}\n";
  Case c;
  c.program = lower_program(parse_program({"bench", text}));
  c.data = load_tensors(c.program);
  return c;
}

std::string sparse(const std::string& name, int n, double density, int seed, const char* format) {
  const std::string extent = std::to_string(n);
  return "input %" + name + ": f32[" + extent + ", " + extent + "] " + format +
         " facts(finite) = uniform(shape=[" + extent + "," + extent +
         "],density=" + std::to_string(density) + ",seed=" + std::to_string(seed) + ")\n";
}

std::string result(int n, const char* format) {
  const std::string extent = std::to_string(n);
  return "result %Y: f32[" + extent + ", " + extent + "] " + format + "\n";
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Simulates region 0 for each iteration; `native` does the same arithmetic.
void simulate(benchmark::State& state, const Case& c, const Machine& machine,
              const std::function<void()>& native) {
  prepare_heap();
  RunOptions options;
  options.threads = static_cast<int>(state.range(0));
  int64_t tokens = 0;
  int64_t cycles = 0;
  int64_t requests = 0;
  double seconds = 0;
  for (auto _ : state) {
    RunResult r;
    seconds += seconds_of(
        [&] { r = run_graph(c.program, *c.program.regions[0].graph, c.data, machine, options); });
    tokens += r.tokens;
    cycles += r.cycles;
    requests += r.memory_requests;
    benchmark::DoNotOptimize(r.cycles);
  }
  double fastest = 1e30;
  for (int k = 0; k < 5; ++k) fastest = std::min(fastest, seconds_of(native));
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
  state.counters["cycles/s"] =
      benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
  if (requests > 0) {
    state.counters["requests/s"] =
        benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
  }
  state.counters["native_ratio"] = seconds / static_cast<double>(state.iterations()) / fastest;
}

const Storage& stored(const Case& c, size_t tensor) {
  return *c.data.storage[tensor];
}

// --- native kernels ---

/// Inner products of the rows of a and b (both compressed below a dense level).
float native_inner(const Storage& a, const Storage& b) {
  const Level& al = a.levels[1];
  const Level& bl = b.levels[1];
  float all = 0;
  for (size_t i = 0; i + 1 < al.pos.size(); ++i) {
    for (size_t j = 0; j + 1 < bl.pos.size(); ++j) {
      uint32_t p = al.pos[i];
      uint32_t q = bl.pos[j];
      const uint32_t p_end = al.pos[i + 1];
      const uint32_t q_end = bl.pos[j + 1];
      float sum = 0;
      while (p < p_end && q < q_end) {
        const uint32_t x = al.crd[p];
        const uint32_t y = bl.crd[q];
        if (x == y) sum += a.values[p] * b.values[q];
        p += x <= y ? 1 : 0;
        q += y <= x ? 1 : 0;
      }
      all += sum;
    }
  }
  return all;
}

/// Row by row, into a dense accumulator.
float native_rows(const Storage& a, const Storage& b) {
  const Level& al = a.levels[1];
  const Level& bl = b.levels[1];
  std::vector<float> row(static_cast<size_t>(b.shape[1]));
  float all = 0;
  for (size_t i = 0; i + 1 < al.pos.size(); ++i) {
    std::fill(row.begin(), row.end(), 0.0F);
    for (uint32_t p = al.pos[i]; p < al.pos[i + 1]; ++p) {
      const uint32_t k = al.crd[p];
      for (uint32_t q = bl.pos[k]; q < bl.pos[k + 1]; ++q) {
        row[bl.crd[q]] += a.values[p] * b.values[q];
      }
    }
    for (const float v : row) all += v;
  }
  return all;
}

float native_add(const Storage& a, const Storage& b) {
  const Level& al = a.levels[1];
  const Level& bl = b.levels[1];
  std::vector<uint32_t> crd(al.crd.size() + bl.crd.size());
  std::vector<float> values(crd.size());
  size_t n = 0;
  for (size_t i = 0; i + 1 < al.pos.size(); ++i) {
    uint32_t p = al.pos[i];
    uint32_t q = bl.pos[i];
    while (p < al.pos[i + 1] || q < bl.pos[i + 1]) {
      const uint32_t x = p < al.pos[i + 1] ? al.crd[p] : UINT32_MAX;
      const uint32_t y = q < bl.pos[i + 1] ? bl.crd[q] : UINT32_MAX;
      crd[n] = std::min(x, y);
      values[n++] = (x <= y ? a.values[p] : 0) + (y <= x ? b.values[q] : 0);
      p += x <= y ? 1 : 0;
      q += y <= x ? 1 : 0;
    }
  }
  return values[n / 2] + static_cast<float>(crd[n / 2]);
}

float native_dense(const Storage& a, const Storage& b) {
  const auto n = static_cast<size_t>(a.shape[0]);
  float all = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (size_t k = 0; k < n; ++k) sum += a.values[i * n + k] * b.values[j * n + k];
      all += sum;
    }
  }
  return all;
}

// --- benchmarks: the argument is the number of threads, rates are on the clock ---

Machine machine_of(int64_t fifo_depth, const std::string& memory) {
  Machine m;
  m.fifo_depth = fifo_depth;
  m.dram.model = memory;
  return m;
}

template <typename Native>
void run_case(benchmark::State& state, const Case& c, Native native, int64_t depth = 0,
              const std::string& memory = "none") {
  simulate(state, c, machine_of(depth, memory), [&] {
    float value = native(stored(c, 0), stored(c, 1));
    benchmark::DoNotOptimize(value);
  });
}

const Case& inner_case() {
  static const Case c = make_case(sparse("A", 1000, 0.01, 1, "dense,compressed") +
                                      sparse("B", 1000, 0.01, 2, "dense,compressed@1,0") +
                                      result(1000, "dense,compressed"),
                                  "order i, j, k\n%Y[i, j] = sum(k) %A[i, k] * %B[k, j]\n");
  return c;
}
const Case& rows_case() {
  static const Case c = make_case(sparse("A", 1000, 0.05, 1, "dense,compressed") +
                                      sparse("B", 1000, 0.05, 2, "dense,compressed") +
                                      result(1000, "dense,compressed"),
                                  "order i, k, j\n%Y[i, j] = sum(k) %A[i, k] * %B[k, j]\n");
  return c;
}
const Case& add_case() {
  static const Case c = make_case(sparse("A", 2000, 0.1, 1, "dense,compressed") +
                                      sparse("B", 2000, 0.1, 2, "dense,compressed") +
                                      result(2000, "dense,compressed"),
                                  "order i, j\n%Y[i, j] = %A[i, j] + %B[i, j]\n");
  return c;
}
const Case& dense_case() {
  static const Case c =
      make_case(sparse("A", 400, 1, 1, "dense,dense") + sparse("B", 400, 1, 2, "dense,dense@1,0") +
                    result(400, "dense,dense"),
                "order i, j, k\n%Y[i, j] = sum(k) %A[i, k] * %B[k, j]\n");
  return c;
}

void BM_Matmul_ijk(benchmark::State& s) {
  run_case(s, inner_case(), native_inner);
}
void BM_Matmul_ikj(benchmark::State& s) {
  run_case(s, rows_case(), native_rows);
}
void BM_Add(benchmark::State& s) {
  run_case(s, add_case(), native_add);
}
void BM_Dense(benchmark::State& s) {
  run_case(s, dense_case(), native_dense);
}
void BM_Matmul_ikj_Bounded(benchmark::State& s) {
  run_case(s, rows_case(), native_rows, 16);
}
void BM_Matmul_ikj_Memory(benchmark::State& s) {
  run_case(s, rows_case(), native_rows, 0, "banked");
}
void BM_Add_Memory(benchmark::State& s) {
  run_case(s, add_case(), native_add, 0, "banked");
}
void BM_Matmul_ikj_BoundedMemory(benchmark::State& s) {
  run_case(s, rows_case(), native_rows, 16, "banked");
}
void BM_Add_BoundedMemory(benchmark::State& s) {
  run_case(s, add_case(), native_add, 16, "banked");
}

BENCHMARK(BM_Matmul_ijk)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Matmul_ikj)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Add)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Dense)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Matmul_ikj_Bounded)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Matmul_ikj_Memory)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Add_Memory)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Matmul_ikj_BoundedMemory)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Add_BoundedMemory)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fuseflow
