// run_all of run.h: each kernel ten times beside its statements; then cold and warm in captured
// graphs, beside cuBLASLt. One CSV row a kernel; and one for all regions as a program, in one
// graph, where each reads what those before gave: by its kernel where that is there and faster,
// else by its statements, whose products cuBLASLt computes.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "run.h"

#define FF_CHECK(call)                                                   \
  do {                                                                   \
    const auto status_ = (call);                                         \
    if (status_ != 0) {                                                  \
      std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
                   static_cast<int>(status_));                           \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

namespace ff {

constexpr size_t kColdBytes = 320L << 20;  ///< more than the L2 keeps between two uses
constexpr int kChecks = 10, kTimes = 12;

typedef CUresult (*EncodeTiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/// Elements of other types than f32 of `values`, and back.
template <class Element>
std::vector<Element> packed(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}
template <class Element>
std::vector<float> unpacked(const void* at, size_t elements) {
  std::vector<Element> packed(elements);
  FF_CHECK(cudaMemcpy(packed.data(), at, elements * sizeof(Element), cudaMemcpyDeviceToHost));
  std::vector<float> values;
  for (const Element x : packed) values.push_back(static_cast<float>(x));
  return values;
}
inline cudaDataType library_type(Type type) {
  return type == Type::f16 ? CUDA_R_16F : type == Type::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

inline CUtensorMap encoded(EncodeTiled encode, const View& view, Type type, void* data) {
  CUtensorMap map;
  const cuuint64_t extents[3] = {static_cast<cuuint64_t>(view.inner),
                                 static_cast<cuuint64_t>(view.outer),
                                 static_cast<cuuint64_t>(view.batches)};
  const int size = bytes_of(type), panel = view.box_inner * size;
  const cuuint64_t pitches[2] = {static_cast<cuuint64_t>(view.pitch) * size,
                                 static_cast<cuuint64_t>(view.batch_pitch) * size};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(view.box_inner),
                             static_cast<cuuint32_t>(view.box_outer), 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  const CUtensorMapSwizzle swizzle = panel == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : panel == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : panel == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
  const CUtensorMapDataType elements = size == 1            ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                       : type == Type::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                            : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  FF_CHECK(encode(&map, elements, 3, data, extents, pitches, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// One set of tensors of a kernel on the GPU.
struct Operands {
  Params params{};
  size_t bytes = 0;
};

/// ... of a program: by number in it, and what each region has.
struct ProgramOperands {
  std::map<int, void*> tensors;
  std::vector<Operands> kernels;
  std::vector<StatementTensors> statements;
  size_t bytes = 0;
};

/// How a region of a program is run.
enum class Way { kernel, library };

class Bench : public Products {
 public:
  Bench() {
    FF_CHECK(cudaFree(nullptr));
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    FF_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
    encode_ = reinterpret_cast<EncodeTiled>(function);
    FF_CHECK(cudaStreamCreate(&stream_));
    FF_CHECK(cublasLtCreate(&library_));
    FF_CHECK(cudaMalloc(&workspace_, kWorkspace));
  }

  /// What the rows printed begin with.
  void label(std::string before) { before_ = std::move(before); }

  void run(const GpuKernel& k) {
    const std::vector<std::vector<float>> values = make_values(k);
    allow(k);
    std::vector<Operands> sets{make_operands(k, values)};
    const double error = check(k, sets[0], values);
    const double bound = largest_error(10 * roundoff(k.tensors, k.tensor_count));
    double warm = -1, cold = -1, rival_warm = -1, rival_cold = -1;
    if (error < bound) {
      const size_t count =
          std::clamp<size_t>(kColdBytes / std::max<size_t>(sets[0].bytes, 1), 8, 400);
      while (sets.size() < count) sets.push_back(make_operands(k, values));
      warm = time([&](size_t) { launch(k, sets[0]); }, 32);
      cold = time([&](size_t i) { launch(k, sets[i]); }, sets.size());
      rival(k, sets, rival_warm, rival_cold);
    }
    std::printf("%s%s,%.3g,%s,%.3f,%.3f,%.3f,%.3f\n", before_.c_str(), k.name, error,
                error < bound ? "right" : "WRONG", cold, warm, rival_cold, rival_warm);
    std::fflush(stdout);
    for (const Operands& set : sets) release(k, set);
  }

  /// All regions, one after the other. Every result is compared with what their statements give,
  /// evaluated plainly. Then each region takes the faster way.
  void run_program(const std::vector<GpuKernel>& kernels) {
    std::map<int, std::vector<float>> values;  // of what no region before gives
    std::map<int, const Tensor*> given;
    for (const GpuKernel& k : kernels) {
      if (k.function != nullptr) allow(k);
      const std::vector<std::vector<float>> random = make_values(k);
      for (size_t t = 0; t < k.tensor_count; ++t) {
        const Tensor& tensor = k.tensors[t];
        if (tensor.result) given[tensor.number] = &tensor;
        if (!tensor.result && given.count(tensor.number) == 0) values[tensor.number] = random[t];
      }
    }
    const std::map<int, std::vector<float>> expected = reference_of(kernels, values, given);
    std::vector<ProgramOperands> sets{make_program(kernels, values)};
    std::vector<Way> ways(kernels.size(), Way::kernel);
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].function == nullptr) ways[i] = Way::library;
    }
    const std::vector<Way> all_library(kernels.size(), Way::library);
    const auto all = [&](ProgramOperands& set, const std::vector<Way>& by) {
      for (size_t i = 0; i < kernels.size(); ++i) run_region(kernels[i], set, i, by[i]);
    };
    double bound = 0;  // rounding of several regions one after the other
    for (const GpuKernel& k : kernels)
      bound = std::max(bound, largest_error(20 * roundoff(k.tensors, k.tensor_count)));
    double worst = 0;
    for (const std::vector<Way>& by : {ways, all_library})
      worst = std::max(worst, worst_of(sets[0], given, expected, [&] { all(sets[0], by); }));
    double warm = -1, cold = -1, library_warm = -1, library_cold = -1;
    if (worst < bound) {
      const size_t count =
          std::clamp<size_t>(kColdBytes / std::max<size_t>(sets[0].bytes, 1), 2, 100);
      while (sets.size() < count) {
        sets.push_back(make_program(kernels, values));
        all(sets.back(), all_library);  // room for intermediates, before anything is captured
      }
      for (size_t i = 0; i < kernels.size(); ++i) choose(kernels[i], sets, i, ways[i]);
      worst = std::max(worst, worst_of(sets[0], given, expected, [&] { all(sets[0], ways); }));
      warm = time([&](size_t) { all(sets[0], ways); }, 8);
      cold = time([&](size_t i) { all(sets[i], ways); }, sets.size());
      library_warm = time([&](size_t) { all(sets[0], all_library); }, 8);
      library_cold = time([&](size_t i) { all(sets[i], all_library); }, sets.size());
    }
    std::printf("%sprogram,%.3g,%s,%.3f,%.3f,%.3f,%.3f\n", before_.c_str(), worst,
                worst < bound ? "right" : "WRONG", cold, warm, library_cold, library_warm);
    for (const ProgramOperands& set : sets) {
      for (const auto& [number, at] : set.tensors) cudaFree(at);
      for (const Operands& one : set.kernels) cudaFree(one.params.sums);
      for (const Operands& one : set.kernels) cudaFree(one.params.counters);
      for (size_t i = 0; i < kernels.size(); ++i)
        release_intermediates(kernels[i], set.statements[i]);
    }
  }

  /// A product of statements; its algorithm is chosen at the first call.
  void product(const StatementTensors& tensors, const LibraryProduct& p) override {
    void* const a = tensors.at[p.a.number];
    void* const b = tensors.at[p.b.number];
    void* const c = tensors.at[p.c.number];
    const std::vector<long> key{p.batches,
                                p.m,
                                p.n,
                                p.k,
                                p.a.transposed,
                                p.a.pitch,
                                p.a.batch,
                                p.b.transposed,
                                p.b.pitch,
                                p.b.batch,
                                p.c.pitch,
                                p.c.batch,
                                static_cast<long>(tensors.types[p.a.number]),
                                static_cast<long>(tensors.types[p.c.number])};
    auto known = products_.find(key);
    if (known == products_.end()) {
      const Product made = best(p, tensors.types[p.a.number], tensors.types[p.c.number], a, b, c);
      known = products_.emplace(key, made).first;
    }
    call(known->second, a, b, c);
  }

 private:
  static constexpr size_t kWorkspace = 64 << 20;

  /// No rounding explains more, not that of elements of 8 bits.
  static double largest_error(double of_rounding) { return std::min(of_rounding, 0.25); }

  static void allow(const GpuKernel& k) {
    FF_CHECK(cudaFuncSetAttribute(k.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  k.launch.scratchpad));
    if (k.launch.cores > 8)
      FF_CHECK(cudaFuncSetAttribute(k.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }

  /// What every region gives, by the plain text of its statements.
  std::map<int, std::vector<float>> reference_of(const std::vector<GpuKernel>& kernels,
                                                 const std::map<int, std::vector<float>>& values,
                                                 const std::map<int, const Tensor*>& given) {
    ProgramOperands set = make_program(kernels, values);
    for (size_t i = 0; i < kernels.size(); ++i)
      kernels[i].statements(set.statements[i], nullptr, stream_);
    FF_CHECK(cudaStreamSynchronize(stream_));
    std::map<int, std::vector<float>> results;
    for (const auto& [number, tensor] : given)
      results[number] = read(*tensor, set.tensors.at(number));
    for (const auto& [number, at] : set.tensors) cudaFree(at);
    for (const Operands& one : set.kernels) cudaFree(one.params.sums);
    for (const Operands& one : set.kernels) cudaFree(one.params.counters);
    for (size_t i = 0; i < kernels.size(); ++i)
      release_intermediates(kernels[i], set.statements[i]);
    return results;
  }
  static void release_intermediates(const GpuKernel& k, const StatementTensors& tensors) {
    for (size_t t = k.tensor_count; t < StatementTensors::kMost; ++t) cudaFree(tensors.at[t]);
  }

  void run_region(const GpuKernel& k, ProgramOperands& set, size_t region, Way way) {
    if (way == Way::kernel) return launch(k, set.kernels[region]);
    k.statements(set.statements[region], this, stream_);
  }
  /// The faster way, cold; said on standard error.
  void choose(const GpuKernel& k, std::vector<ProgramOperands>& sets, size_t region, Way& way) {
    if (k.function == nullptr) {
      std::fprintf(stderr, "%s: by its statements, it has no kernel\n", k.name);
      return;
    }
    double taken[2];
    for (const Way tried : {Way::kernel, Way::library}) {
      taken[static_cast<int>(tried)] =
          time([&](size_t i) { run_region(k, sets[i], region, tried); }, sets.size());
    }
    way = taken[0] <= taken[1] ? Way::kernel : Way::library;
    std::fprintf(stderr, "%s: %s (kernel %.3f us, library %.3f us)\n", k.name,
                 way == Way::kernel ? "by its kernel" : "by its statements", taken[0], taken[1]);
  }
  /// The largest relative error of ten runs of all regions.
  template <class Run>
  double worst_of(const ProgramOperands& set, const std::map<int, const Tensor*>& given,
                  const std::map<int, std::vector<float>>& expected, Run run) {
    double worst = 0;
    for (int turn = 0; turn < kChecks; ++turn) {
      for (const auto& [number, tensor] : given) clear(*tensor, set.tensors.at(number));
      run();
      FF_CHECK(cudaStreamSynchronize(stream_));
      for (const auto& [number, tensor] : given)
        worst =
            std::max(worst, difference(read(*tensor, set.tensors.at(number)), expected.at(number)));
    }
    return worst;
  }

  ProgramOperands make_program(const std::vector<GpuKernel>& kernels,
                               const std::map<int, std::vector<float>>& values) {
    ProgramOperands set;
    for (const GpuKernel& k : kernels) {
      Operands& one = set.kernels.emplace_back();
      StatementTensors& statements = set.statements.emplace_back();
      statements.rows = k.rows;
      for (size_t t = 0; t < k.tensor_count; ++t) {
        const Tensor& tensor = k.tensors[t];
        void*& at = set.tensors[tensor.number];
        if (at == nullptr) {
          const auto value = values.find(tensor.number);
          at = value != values.end()
                   ? make_tensor(tensor, value->second, set.bytes)
                   : make_tensor(tensor, std::vector<float>(tensor.elements), set.bytes);
        }
        statements.at[t] = at;
        statements.types[t] = tensor.type;
        if (k.function == nullptr) continue;
        one.params.tensors[t] = at;
      }
      complete(k, one);
      set.bytes += one.bytes;
    }
    return set;
  }

  static void* make_tensor(const Tensor& tensor, const std::vector<float>& values, size_t& all) {
    const size_t bytes = values.size() * static_cast<size_t>(bytes_of(tensor.type));
    void* at = nullptr;
    FF_CHECK(cudaMalloc(&at, bytes));
    const auto copy = [&](const auto& elements) {
      FF_CHECK(cudaMemcpy(at, elements.data(), bytes, cudaMemcpyHostToDevice));
    };
    if (tensor.type == Type::f16) copy(packed<__half>(values));
    if (tensor.type == Type::bf16) copy(packed<__nv_bfloat16>(values));
    if (tensor.type == Type::f32) copy(values);
    if (tensor.type == Type::u8) copy(packed<unsigned char>(values));
    if (tensor.type == Type::i8) copy(packed<signed char>(values));
    if (tensor.type == Type::f8e4m3) copy(packed<__nv_fp8_e4m3>(values));
    if (tensor.type == Type::f8e5m2) copy(packed<__nv_fp8_e5m2>(values));
    if (tensor.type == Type::i32) copy(packed<int>(values));
    if (tensor.type == Type::i64) copy(packed<long>(values));
    all += bytes;
    return at;
  }

  /// Numbers that no result is, so that what a kernel leaves out is seen.
  void clear(const Tensor& tensor, void* at) {
    const auto bytes = static_cast<size_t>(tensor.elements * bytes_of(tensor.type));
    FF_CHECK(cudaMemsetAsync(at, 0xff, bytes, stream_));
  }
  static std::vector<float> read(const Tensor& tensor, const void* at) {
    const auto elements = static_cast<size_t>(tensor.elements);
    if (tensor.type == Type::f16) return unpacked<__half>(at, elements);
    if (tensor.type == Type::bf16) return unpacked<__nv_bfloat16>(at, elements);
    if (tensor.type == Type::f8e4m3) return unpacked<__nv_fp8_e4m3>(at, elements);
    if (tensor.type == Type::f8e5m2) return unpacked<__nv_fp8_e5m2>(at, elements);
    return unpacked<float>(at, elements);
  }
  /// Relative, in the square mean; 1e30 where something is no number.
  static double difference(const std::vector<float>& got, const std::vector<float>& expected) {
    double error = 0, square = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (is_same_beyond(got[i], expected[i])) continue;
      const double difference = static_cast<double>(got[i]) - expected[i];
      error += difference * difference;
      square += static_cast<double>(expected[i]) * expected[i];
    }
    const double relative = std::sqrt(error / std::max(square, 1e-30));
    return relative == relative ? relative : 1e30;
  }

  static std::vector<std::vector<float>> make_values(const GpuKernel& k) {
    std::mt19937 random(7);
    std::vector<std::vector<float>> all(k.tensor_count);
    for (size_t t = 0; t < k.tensor_count; ++t) {
      all[t].resize(static_cast<size_t>(k.tensors[t].elements));
      const Type type = k.tensors[t].type;
      const bool whole = !is_rounded(type) && type != Type::f32;
      for (float& x : all[t]) {
        x = whole ? static_cast<float>(random() % 2)
                  : (static_cast<int>(random() % 2001) / 1000.0F - 1) * 0.15F;
      }
    }
    return all;
  }

  Operands make_operands(const GpuKernel& k, const std::vector<std::vector<float>>& values) {
    Operands set;
    for (size_t t = 0; t < k.tensor_count; ++t) {
      set.params.tensors[t] = make_tensor(k.tensors[t], values[t], set.bytes);
    }
    complete(k, set);
    return set;
  }
  /// What else a kernel needs to be launched on its tensors.
  void complete(const GpuKernel& k, Operands& set) {
    set.params.rows = static_cast<int>(k.rows);
    for (size_t v = 0; v < k.view_count; ++v) {
      if (k.views[v].box_inner < 16) continue;  // of a kernel that copies nothing
      const int t = k.views[v].tensor;
      set.params.views[v] = encoded(encode_, k.views[v], k.tensors[t].type, set.params.tensors[t]);
    }
    if (k.launch.sums > 0) {
      FF_CHECK(cudaMalloc(&set.params.sums, static_cast<size_t>(k.launch.sums) * 4));
      FF_CHECK(cudaMemset(set.params.sums, 0, static_cast<size_t>(k.launch.sums) * 4));
      FF_CHECK(cudaMalloc(&set.params.counters, static_cast<size_t>(k.launch.counters) * 4));
      FF_CHECK(cudaMemset(set.params.counters, 0, static_cast<size_t>(k.launch.counters) * 4));
      set.bytes += static_cast<size_t>(k.launch.sums) * 4;
    }
  }
  static void release(const GpuKernel& k, const Operands& set) {
    for (size_t t = 0; t < k.tensor_count; ++t) cudaFree(set.params.tensors[t]);
    cudaFree(set.params.sums);
    cudaFree(set.params.counters);
  }

  void launch(const GpuKernel& k, const Operands& set) {
    cudaLaunchConfig_t config = {};
    config.gridDim = static_cast<unsigned>(k.launch.clusters * k.launch.cores);
    config.blockDim = static_cast<unsigned>(k.threads);
    config.dynamicSmemBytes = static_cast<size_t>(k.launch.scratchpad);
    config.stream = stream_;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(k.launch.cores);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
    void* arguments[] = {const_cast<Params*>(&set.params)};
    FF_CHECK(cudaLaunchKernelExC(&config, k.function, arguments));
  }

  /// The largest relative error of ten launches; the reference has the same values.
  double check(const GpuKernel& k, const Operands& set,
               const std::vector<std::vector<float>>& values) {
    StatementTensors reference;
    reference.rows = k.rows;
    size_t bytes = 0;
    for (size_t t = 0; t < k.tensor_count; ++t) {
      reference.at[t] = make_tensor(k.tensors[t], values[t], bytes);
      reference.types[t] = k.tensors[t].type;
    }
    k.statements(reference, nullptr, stream_);
    FF_CHECK(cudaStreamSynchronize(stream_));
    std::map<size_t, std::vector<float>> expected;  // by tensor
    for (size_t t = 0; t < k.tensor_count; ++t) {
      if (k.tensors[t].result) expected[t] = read(k.tensors[t], reference.at[t]);
    }
    for (void* at : reference.at) cudaFree(at);
    double worst = 0;
    for (int turn = 0; turn < kChecks; ++turn) {
      for (const auto& [t, ignored] : expected) clear(k.tensors[t], set.params.tensors[t]);
      launch(k, set);
      FF_CHECK(cudaStreamSynchronize(stream_));
      for (const auto& [t, values_of] : expected)
        worst = std::max(worst, difference(read(k.tensors[t], set.params.tensors[t]), values_of));
    }
    return worst;
  }

  /// Microseconds of one of `count` calls in a captured graph: the median of several launches of
  /// it.
  template <class Call>
  double time(Call call, size_t count) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    FF_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    for (size_t i = 0; i < count; ++i) call(i);
    FF_CHECK(cudaStreamEndCapture(stream_, &graph));
    FF_CHECK(cudaGraphInstantiate(&executable, graph, 0));
    cudaEvent_t first, last;
    FF_CHECK(cudaEventCreate(&first));
    FF_CHECK(cudaEventCreate(&last));
    std::vector<float> all;
    for (int i = 0; i < kTimes; ++i) {
      FF_CHECK(cudaEventRecord(first, stream_));
      FF_CHECK(cudaGraphLaunch(executable, stream_));
      FF_CHECK(cudaEventRecord(last, stream_));
      FF_CHECK(cudaEventSynchronize(last));
      float milliseconds;
      FF_CHECK(cudaEventElapsedTime(&milliseconds, first, last));
      all.push_back(milliseconds * 1000 / static_cast<float>(count));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

  struct Product {
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
  };
  /// Of the library's proposals the fastest one. The library's matrices are column-major: it is
  /// asked for the transposed result, of the right factor and then the left one.
  Product best(const LibraryProduct& r, Type factors, Type result, const void* a, const void* b,
               void* c) {
    Product p{};
    FF_CHECK(cublasLtMatmulDescCreate(&p.description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const auto layout = [&](cublasLtMatrixLayout_t& made, const LibraryMatrix& of, long rows,
                            long columns, cudaDataType type) {
      FF_CHECK(cublasLtMatrixLayoutCreate(&made, type, of.transposed ? rows : columns,
                                          of.transposed ? columns : rows, of.pitch));
      const int batches = static_cast<int>(r.batches);
      FF_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches,
                                                sizeof batches));
      FF_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &of.batch, sizeof(long)));
    };
    layout(p.a, r.b, r.k, r.n, library_type(factors));
    layout(p.b, r.a, r.m, r.k, library_type(factors));
    layout(p.c, r.c, r.m, r.n, library_type(result));
    for (const auto& [attribute, of] : {std::pair{CUBLASLT_MATMUL_DESC_TRANSA, &r.b},
                                        std::pair{CUBLASLT_MATMUL_DESC_TRANSB, &r.a}}) {
      const cublasOperation_t operation = of->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      FF_CHECK(
          cublasLtMatmulDescSetAttribute(p.description, attribute, &operation, sizeof operation));
    }
    cublasLtMatmulPreference_t preference;
    FF_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    FF_CHECK(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
    cublasLtMatmulHeuristicResult_t found[16];
    int count = 0;
    FF_CHECK(cublasLtMatmulAlgoGetHeuristic(library_, p.description, p.a, p.b, p.c, p.c, preference,
                                            16, found, &count));
    if (count == 0) {
      std::fprintf(stderr, "cuBLASLt has no algorithm for %ld x %ld x %ld\n", r.m, r.n, r.k);
      std::exit(1);
    }
    double least = 1e30;
    for (int f = 0; f < count; ++f) {
      Product tried = p;
      tried.algorithm = found[f].algo;
      const double taken = time([&](size_t) { call(tried, a, b, c); }, 8);
      if (taken < least) {
        least = taken;
        p.algorithm = found[f].algo;
      }
    }
    return p;
  }
  void call(const Product& p, const void* a, const void* b, void* c) {
    const float one = 1, zero = 0;
    FF_CHECK(cublasLtMatmul(library_, p.description, &one, b, p.a, a, p.b, &zero, c, p.c, c, p.c,
                            &p.algorithm, workspace_, kWorkspace, stream_));
  }

  /// What the library takes for the same products. An activation of a chain is taken to be folded
  /// into the first product at no cost; gate and up are one product, gated by a kernel of its own.
  void rival(const GpuKernel& k, const std::vector<Operands>&, double& warm, double& cold) {
    if (k.rivals.empty()) return;
    size_t bytes = 0;
    for (const Rival& r : k.rivals)
      bytes += static_cast<size_t>(r.batches * (r.m * r.k + r.k * r.n + r.m * r.n)) * 2;
    // A product takes what the one before gave where that has as many elements.
    const auto takes_last = [&](size_t i) {
      const auto elements = [](const Rival& r, long columns) { return r.batches * r.m * columns; };
      if (i == 0 || k.gate > 0) return i > 0;
      const Rival& before = k.rivals[i - 1];
      return elements(before, before.n) == elements(k.rivals[i], k.rivals[i].k);
    };
    const size_t count = std::clamp<size_t>(kColdBytes / std::max<size_t>(bytes, 1), 8, 400);
    std::vector<char*> sets(count);
    for (char*& set : sets) {
      FF_CHECK(cudaMalloc(&set, bytes));
      FF_CHECK(cudaMemset(set, 0, bytes));
    }
    std::vector<Product> products;
    const auto all = [&](char* set, bool choose) {
      char* last = nullptr;
      char* at = set;
      for (size_t i = 0; i < k.rivals.size(); ++i) {
        const Rival& r = k.rivals[i];
        char* a = takes_last(i) ? last : at;
        char* b = takes_last(i) ? at : at + r.batches * r.m * r.k * 2;
        char* c = b + r.batches * r.k * r.n * 2;
        at = c + r.batches * r.m * r.n * 2;
        if (choose) {
          const LibraryProduct product{r.batches,
                                       r.m,
                                       r.n,
                                       r.k,
                                       {0, false, r.k, r.m * r.k},
                                       {1, false, r.n, r.k * r.n},
                                       {2, false, r.n, r.m * r.n}};
          products.push_back(best(product, k.element, k.element, a, b, c));
        } else {
          call(products[i], a, b, c);
          if (i == 0 && k.gate > 0) gate(k.element, c, k.gate);
        }
        last = c;
      }
    };
    all(sets[0], true);
    warm = time([&](size_t) { all(sets[0], false); }, 32);
    cold = time([&](size_t i) { all(sets[i], false); }, count);
    for (char* set : sets) cudaFree(set);
  }
  void gate(Type type, char* c, long elements);

  EncodeTiled encode_ = nullptr;
  std::string before_;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t library_ = nullptr;
  void* workspace_ = nullptr;
  std::map<std::vector<long>, Product> products_;  ///< of statements, by what is multiplied
};

/// silu(gate) * up, in place.
__global__ void gate_kernel(Type type, unsigned* c, long pairs) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i >= pairs) return;
  const auto low = [&](unsigned both) { return from_bits(type, both & 0xffff); };
  const auto high = [&](unsigned both) { return from_bits(type, both >> 16); };
  const auto gated = [](float x, float y) { return x / (1 + __expf(-x)) * y; };
  const unsigned x = c[i], y = c[i + pairs];
  c[i] = pair_bits(type, gated(low(x), low(y)), gated(high(x), high(y)));
}
inline void Bench::gate(Type type, char* c, long elements) {
  gate_kernel<<<static_cast<unsigned>((elements / 2 + 255) / 256), 256, 0, stream_>>>(
      type, reinterpret_cast<unsigned*>(c), elements / 2);
}

constexpr const char* kColumns =
    "kernel,relative_error,check,cold_us,warm_us,library_cold_us,library_warm_us\n";

/// All regions in order; `without`: those that cannot be run. Arguments: names of kernels, and
/// `program` for all regions in one graph; none: everything.
inline int run_all(int argc, char** argv, const std::vector<GpuKernel>& kernels,
                   const std::vector<std::string>& without) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool known =
        name == "program" || std::any_of(kernels.begin(), kernels.end(),
                                         [&](const GpuKernel& k) { return k.name == name; });
    if (known) continue;
    std::fprintf(stderr, "%s: no such kernel; plan.csv names them, and program is all of them\n",
                 argv[i]);
    return 2;
  }
  Bench bench;
  const auto asked = [&](const std::string& name) {
    return argc < 2 || std::find(argv + 1, argv + argc, name) != argv + argc;
  };
  std::printf("%s", kColumns);
  for (const GpuKernel& k : kernels) {
    if (k.function != nullptr && asked(k.name)) bench.run(k);
  }
  if (!asked("program") || kernels.size() < 2) return 0;
  for (const std::string& region : without)
    std::fprintf(stderr,
                 "%s has no kernel, and tensors that its statements do not run on: the program is "
                 "not run as a whole\n",
                 region.c_str());
  if (without.empty()) bench.run_program(kernels);
  return 0;
}

/// The kernels of every entry of a table, for as many rows as it takes; with `--rows N` those that
/// N rows take.
inline int run_table(int argc, char** argv, const std::vector<TableEntry>& table) {
  long rows = -1;
  for (int i = 1; i < argc; i += 2) {
    const bool known = std::string(argv[i]) == "--rows";
    if (!known) std::fprintf(stderr, "%s: expected --rows N\n", argv[i]);
    if (!known) return 2;
    rows = whole_number("--rows", i + 1 < argc ? argv[i + 1] : "");
  }
  std::vector<long> most;
  for (const TableEntry& entry : table) most.push_back(entry.most);
  const size_t first = rows < 0 ? 0 : entry_for(most, rows);
  Bench bench;
  std::printf("rows_up_to,rows,%s", kColumns);
  for (size_t e = first; e < (rows < 0 ? table.size() : first + 1); ++e) {
    const long taken = rows < 0 ? most[e] : rows;
    bench.label(std::to_string(most[e]) + "," + std::to_string(taken) + ",");
    std::vector<GpuKernel> kernels;
    for (const auto& make : table[e].kernels) kernels.push_back(make(taken));
    for (const GpuKernel& k : kernels) bench.run(k);
    if (kernels.size() > 1) bench.run_program(kernels);
  }
  return 0;
}

}  // namespace ff
