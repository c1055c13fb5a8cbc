// The kernels' functions on a GPU of compute capability 9.0 (sm_90a). The same ones for the CPU:
// host/fuseflow.h.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#define FF_FN __host__ __device__ inline
#define FF_KERNEL(name, Core) \
  __global__ void __launch_bounds__(Core::kBlock, 1) name(const __grid_constant__ ff::Params params)
#define FF_BEGIN(scratchpad, barriers, Core)                               \
  extern __shared__ __align__(1024) unsigned char scratchpad_[];           \
  const Core core {                                                        \
    static_cast<unsigned>(__cvta_generic_to_shared(scratchpad_)), barriers \
  }
/// Data of a kernel that it looks up by numbers.
#define FF_TABLE static __device__ const

#include "tensors.h"

#include "layout.h"
#include "operators.h"

#include "elements.h"
#include "multiply.h"
#include "primitives.h"

#undef FF_FN
#define FF_FN __device__ inline
#include "protocol.h"
#include "rows.h"
