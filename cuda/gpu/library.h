// Products by cuBLASLt: of statements, and in a kernel's place; those of f32 as tf32, as kernels
// multiply them.
#pragma once

#include <cublasLt.h>

#include <map>
#include <optional>

#include "measure.h"

namespace ff {

inline cudaDataType library_type(Type type) {
  return type == Type::f16 ? CUDA_R_16F : type == Type::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// A product as the library is called for it.
struct LibraryCall {
  cublasLtMatmulDesc_t description;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
};
/// Bytes of a set at which a rival's matrices begin.
struct RivalPlaces {
  size_t a, b, c;
};

class Library : public Products {
 public:
  explicit Library(const Stream& stream) : stream_(stream) {
    FF_CHECK(cublasLtCreate(&library_));
    FF_CHECK(cudaMalloc(&workspace_, kWorkspace));
  }

  /// A product of statements; its algorithm is chosen at the first call.
  bool product(const StatementTensors& tensors, const LibraryProduct& p) override {
    void* const a = tensors.at[p.a.number];
    void* const b = tensors.at[p.b.number];
    void* const c = tensors.at[p.c.number];
    const Type factors = tensors.types[p.a.number], result = tensors.types[p.c.number];
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
                                static_cast<long>(factors),
                                static_cast<long>(result)};
    auto known = products_.find(key);
    if (known == products_.end())
      known = products_.emplace(key, best(p, factors, result, a, b, c)).first;
    if (known->second) call(*known->second, a, b, c);
    return known->second.has_value();
  }

  /// Microseconds that the library takes for the same products; -1 where it has no algorithm for
  /// one. An activation of a chain is taken to be folded into the first product at no cost; gate
  /// and up are one product, gated by a kernel of its own.
  void rival(const GpuKernel& k, double& warm, double& cold) {
    if (k.rivals.empty()) return;
    const std::vector<RivalPlaces> places = places_of(k);
    const size_t bytes =
        places.back().c +
        part(k.rivals.back().batches * k.rivals.back().m * k.rivals.back().n, k.element);
    std::vector<char*> sets(Stream::cold_sets(bytes, 8, 400));
    for (char*& set : sets) {
      FF_CHECK(cudaMalloc(&set, bytes));
      FF_CHECK(cudaMemset(set, 0, bytes));
    }
    std::vector<std::optional<LibraryCall>> products;
    bool all_there = true;
    for (size_t i = 0; i < k.rivals.size(); ++i) {
      const Rival& r = k.rivals[i];
      const LibraryProduct product{r.batches,
                                   r.m,
                                   r.n,
                                   r.k,
                                   {0, false, r.k, r.m * r.k},
                                   {1, false, r.n, r.k * r.n},
                                   {2, false, r.n, r.m * r.n}};
      char* const set = sets[0];
      products.push_back(best(product, k.element, k.element, set + places[i].a, set + places[i].b,
                              set + places[i].c));
      all_there = all_there && products.back();
    }
    const auto all = [&](char* set) {
      for (size_t i = 0; i < k.rivals.size(); ++i) {
        call(*products[i], set + places[i].a, set + places[i].b, set + places[i].c);
        if (i == 0 && k.gate > 0) gate(k.element, set + places[i].c, k.gate);
      }
    };
    if (all_there) {
      warm = stream_.time([&](size_t) { all(sets[0]); }, 32);
      cold = stream_.time([&](size_t i) { all(sets[i]); }, sets.size());
    }
    for (char* set : sets) FF_CHECK(cudaFree(set));
  }

 private:
  static constexpr size_t kWorkspace = 64 << 20;
  static constexpr long kAlignment = 256;  ///< bytes, that the library takes matrices to have

  static size_t part(long elements, Type type) {
    return static_cast<size_t>((elements * bytes_of(type) + kAlignment - 1) / kAlignment *
                               kAlignment);
  }
  /// A product takes what the one before gave where that has as many elements.
  static std::vector<RivalPlaces> places_of(const GpuKernel& k) {
    std::vector<RivalPlaces> places;
    size_t at = 0;
    for (size_t i = 0; i < k.rivals.size(); ++i) {
      const Rival& r = k.rivals[i];
      const Rival* before = i > 0 ? &k.rivals[i - 1] : nullptr;
      const bool takes_last =
          i > 0 && (k.gate > 0 || before->batches * before->m * before->n == r.batches * r.m * r.k);
      RivalPlaces here{};
      here.a = takes_last ? places.back().c : at;
      here.b = takes_last ? at : at + part(r.batches * r.m * r.k, k.element);
      here.c = here.b + part(r.batches * r.k * r.n, k.element);
      at = here.c + part(r.batches * r.m * r.n, k.element);
      places.push_back(here);
    }
    return places;
  }

  /// Of the library's proposals the fastest one; nothing where it has none. The library's matrices
  /// are column-major: it is asked for the transposed result, of the right factor and then the left
  /// one.
  std::optional<LibraryCall> best(const LibraryProduct& r, Type factors, Type result, const void* a,
                                  const void* b, void* c) {
    LibraryCall p{};
    const cublasComputeType_t sums =
        factors == Type::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    FF_CHECK(cublasLtMatmulDescCreate(&p.description, sums, CUDA_R_32F));
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
    double least = -1;
    for (const LibraryCall& tried : proposals(p)) {
      const double taken = stream_.time([&](size_t) { call(tried, a, b, c); }, 8);
      if (least >= 0 && taken >= least) continue;
      least = taken;
      p = tried;
    }
    if (least >= 0) return p;
    std::fprintf(stderr, "cuBLASLt has no algorithm for %ld x %ld x %ld\n", r.m, r.n, r.k);
    return std::nullopt;
  }
  /// The product with each algorithm that the library proposes.
  std::vector<LibraryCall> proposals(const LibraryCall& p) {
    cublasLtMatmulPreference_t preference;
    FF_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    FF_CHECK(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
    cublasLtMatmulHeuristicResult_t found[16];
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library_, p.description, p.a, p.b, p.c, p.c, preference, 16, found, &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) FF_CHECK(status);
    FF_CHECK(cublasLtMatmulPreferenceDestroy(preference));
    std::vector<LibraryCall> all(static_cast<size_t>(count), p);
    for (int i = 0; i < count; ++i) all[static_cast<size_t>(i)].algorithm = found[i].algo;
    return all;
  }
  void call(const LibraryCall& p, const void* a, const void* b, void* c) {
    const float one = 1, zero = 0;
    FF_CHECK(cublasLtMatmul(library_, p.description, &one, b, p.a, a, p.b, &zero, c, p.c, c, p.c,
                            &p.algorithm, workspace_, kWorkspace, stream_));
  }
  void gate(Type type, char* c, long elements);

  const Stream& stream_;
  cublasLtHandle_t library_ = nullptr;
  void* workspace_ = nullptr;
  /// Of statements, by what is multiplied.
  std::map<std::vector<long>, std::optional<LibraryCall>> products_;
};

/// silu(gate) * up, in place.
__global__ void gate_kernel(Type type, void* all, long pairs) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i >= pairs) return;
  const auto gated = [](float x, float y) { return x / (1 + __expf(-x)) * y; };
  if (type == Type::f32) {
    float2* const c = static_cast<float2*>(all);
    const float2 x = c[i], y = c[i + pairs];
    c[i] = make_float2(gated(x.x, y.x), gated(x.y, y.y));
    return;
  }
  unsigned* const c = static_cast<unsigned*>(all);
  const auto low = [&](unsigned both) { return from_bits(type, both & 0xffff); };
  const auto high = [&](unsigned both) { return from_bits(type, both >> 16); };
  const unsigned x = c[i], y = c[i + pairs];
  c[i] = pair_bits(type, gated(low(x), low(y)), gated(high(x), high(y)));
}
inline void Library::gate(Type type, char* c, long elements) {
  gate_kernel<<<static_cast<unsigned>((elements / 2 + 255) / 256), 256, 0, stream_>>>(type, c,
                                                                                      elements / 2);
  FF_CHECK(cudaGetLastError());
}

}  // namespace ff
