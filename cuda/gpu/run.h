// Checks and times kernels on the GPU (run.cu). Implemented in the one file that includes
// run_all.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "fuseflow.h"

namespace ff {

/// Tensors of a reference: those of the kernel, then intermediates, in f32.
struct ReferenceTensors {
  float* at[32] = {};
  void make(int number, long elements) {
    cudaMalloc(&at[number], static_cast<size_t>(elements) * 4);
  }
};
__device__ inline float rounded(float x) {
  return __half2float(__float2half_rn(x));
}

/// A product that a library would be asked for.
struct Rival {
  long batches, m, n, k;
};

struct GpuKernel {
  const char* name;
  Launch launch;
  const Tensor* tensors;
  size_t tensor_count;
  const View* views;
  size_t view_count;
  const void* function;
  int threads;
  void (*reference)(ReferenceTensors&);
  std::vector<Rival> rivals;
  long gate;  ///< elements that a kernel between the rivals gates; 0: none
};

}  // namespace ff
