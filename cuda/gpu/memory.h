// Tensors of kernels on the GPU: made of numbers, read back, and as the copy engine sees them.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "data.h"
#include "measure.h"

namespace ff {

typedef CUresult (*EncodeTiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

inline EncodeTiled find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  FF_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                            cudaEnableDefault, &found));
  FF_CHECK(found != cudaDriverEntryPointSuccess);  // a driver without it
  return reinterpret_cast<EncodeTiled>(function);
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
  // Elements of f32 come as tf32, rounded.
  const CUtensorMapDataType elements = size == 1            ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                       : size == 4          ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                       : type == Type::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                            : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  FF_CHECK(encode(&map, elements, 3, data, extents, pitches, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

inline size_t bytes_of(const Tensor& tensor) {
  return static_cast<size_t>(tensor.elements) * static_cast<size_t>(bytes_of(tensor.type));
}
inline void release(void* at) {
  FF_CHECK(cudaFree(at));
}

inline void* make_tensor(const Tensor& tensor, const std::vector<float>& values, size_t& all) {
  std::vector<unsigned char> elements(bytes_of(tensor));
  for (size_t i = 0; i < values.size(); ++i)
    store_at(tensor.type, elements.data(), static_cast<long>(i), values[i]);
  void* at = nullptr;
  FF_CHECK(cudaMalloc(&at, elements.size()));
  FF_CHECK(cudaMemcpy(at, elements.data(), elements.size(), cudaMemcpyHostToDevice));
  all += elements.size();
  return at;
}
/// Fills a result with what no kernel gives.
inline void clear(const Tensor& tensor, void* at) {
  const auto size = static_cast<size_t>(bytes_of(tensor.type));
  const unsigned none = unwritten_bits(tensor.type);
  std::vector<unsigned char> elements(bytes_of(tensor));
  for (size_t i = 0; i < elements.size(); i += size) std::memcpy(&elements[i], &none, size);
  FF_CHECK(cudaMemcpy(at, elements.data(), elements.size(), cudaMemcpyHostToDevice));
}
inline std::vector<float> read(const Tensor& tensor, const void* at) {
  const auto size = static_cast<size_t>(bytes_of(tensor.type));
  const unsigned none = unwritten_bits(tensor.type);
  std::vector<unsigned char> elements(bytes_of(tensor));
  FF_CHECK(cudaMemcpy(elements.data(), at, elements.size(), cudaMemcpyDeviceToHost));
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::memcmp(&elements[i * size], &none, size) == 0
                    ? unwritten()
                    : element_at(tensor.type, elements.data(), static_cast<long>(i));
  }
  return values;
}

/// The values of a kernel's tensors: those of the folder data, as run_host has them; where it has
/// none, random ones, if these are right for the kernel. Of results zeros.
inline std::vector<std::vector<float>> make_values(const GpuKernel& k) {
  const std::string folder = "data";
  std::mt19937 random(7);
  std::vector<std::vector<float>> all(k.tensor_count);
  for (size_t t = 0; t < k.tensor_count; ++t) {
    const Tensor& tensor = k.tensors[t];
    if (!tensor.result) all[t] = read_data(folder, tensor);
    if (!all[t].empty()) continue;
    all[t].resize(static_cast<size_t>(tensor.elements));
    if (tensor.result) continue;
    if (k.leaves_steps_out) no_data(folder, tensor);
    const bool whole = !is_rounded(tensor.type) && tensor.type != Type::f32;
    for (float& x : all[t]) {
      x = whole ? static_cast<float>(random() % 2)
                : (static_cast<int>(random() % 2001) / 1000.0F - 1) * 0.15F;
    }
  }
  return all;
}

/// One set of tensors of a kernel on the GPU.
struct Operands {
  Params params{};
  size_t bytes = 0;
};

/// What else a kernel needs to be launched on its tensors.
inline void complete(EncodeTiled encode, const GpuKernel& k, Operands& set) {
  set.params.rows = static_cast<int>(k.rows);
  for (size_t v = 0; v < k.view_count; ++v) {
    if (k.views[v].box_inner < 16) continue;  // of a kernel that copies nothing
    const int t = k.views[v].tensor;
    set.params.views[v] = encoded(encode, k.views[v], k.tensors[t].type, set.params.tensors[t]);
  }
  if (k.launch.sums == 0) return;
  const size_t sums = static_cast<size_t>(k.launch.sums) * 4,
               counters = static_cast<size_t>(k.launch.counters) * 4;
  FF_CHECK(cudaMalloc(&set.params.sums, sums));
  FF_CHECK(cudaMemset(set.params.sums, 0, sums));
  FF_CHECK(cudaMalloc(&set.params.counters, counters));
  FF_CHECK(cudaMemset(set.params.counters, 0, counters));
  set.bytes += sums;
}
inline void release_sums(const Operands& set) {
  release(set.params.sums);
  release(set.params.counters);
}

}  // namespace ff
