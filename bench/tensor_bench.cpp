// How long tensors take to load, convert and generate. Files are generated, so nothing is needed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tensor/readers.h"
#include "tensor/source.h"
#include "tensor/write.h"

namespace fuseflow {
namespace {

/// The shape and count of Cora_ML's features.
constexpr const char* kFeatures = "uniform(shape=[2995,2879],density=0.0175318,seed=1)";

Storage generated(const char* text, const Format& format) {
  return load(parse_source(text), std::nullopt, format);
}

/// A temporary file that holds the features.
class FeatureFile {
 public:
  explicit FeatureFile(const std::string& extension)
      : path_(std::filesystem::temp_directory_path() /
              ("fuseflow_bench_" + std::to_string(::getpid()) + extension)) {
    write_tensor(path_.string(), generated(kFeatures, sparse_format(2)));
  }
  ~FeatureFile() { std::filesystem::remove(path_); }
  FeatureFile(const FeatureFile&) = delete;
  FeatureFile& operator=(const FeatureFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void load_file(benchmark::State& state, const char* extension, const char* format) {
  const FeatureFile file(extension);
  const Source source = parse_binding(file.path());
  for (auto _ : state) {
    benchmark::DoNotOptimize(load(source, std::nullopt, parse_format(format)).stored());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(std::filesystem::file_size(file.path())));
}
BENCHMARK_CAPTURE(load_file, mtx, ".mtx", "dense,compressed")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_file, mtx_transposed, ".mtx", "dense,compressed@1,0")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_file, tns, ".tns", "compressed,compressed")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_file, npy, ".npy", "dense,dense")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_file, npy_sparse, ".npy", "dense,compressed")->Unit(benchmark::kMillisecond);

void convert_format(benchmark::State& state, const char* from, const char* to) {
  const Storage storage = generated(kFeatures, parse_format(from));
  const Format format = parse_format(to);
  for (auto _ : state) benchmark::DoNotOptimize(convert(storage, format).stored());
}
BENCHMARK_CAPTURE(convert_format, csr_to_csc, "dense,compressed", "dense,compressed@1,0")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(convert_format, csr_to_blocks, "dense,compressed", "dense,compressed[16x16]")
    ->Unit(benchmark::kMillisecond);

void generate_graph(benchmark::State& state, const char* text) {
  const Source source = parse_source(text);
  for (auto _ : state) benchmark::DoNotOptimize(read_raw(source, std::nullopt).present());
}
BENCHMARK_CAPTURE(generate_graph, power_law,
                  "power_law(shape=[736389,736389],edges=5400000,seed=1)")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(generate_graph, uniform, "uniform(shape=[10000,10000],density=0.01,seed=1)")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fuseflow
