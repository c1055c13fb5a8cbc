// One core: its clock, the latency of its scratchpad (links.cu has the rate), a barrier in it, its
// lanes and its matrix units; and what lies between two kernels. Rates are per cycle of one
// multiprocessor, so that they hold at any clock.
#include <cstdint>

#include "measure.h"
#include "wgmma.h"

namespace {

constexpr const char* kGroup = "core";

// --- Launches

__global__ void spin_after(long long cycles) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

// Seconds a kernel of a captured graph of dependent kernels.
double per_kernel(int blocks, int threads, int scratchpad, long long cycles, bool overlapped) {
  return seconds_of_graph(500, [&](int, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = scratchpad;
    config.stream = stream;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = overlapped ? 1 : 0;
    if (overlapped) {
      CHECK(cudaLaunchKernelEx(&config, spin_after, cycles));
    } else {
      CHECK(cudaLaunchKernelEx(&config, spin, cycles, static_cast<long long*>(nullptr)));
    }
  });
}

void launches(double gigahertz) {
  constexpr long long kCycles = 20000;
  constexpr int kScratchpad = 200 * 1024;
  allow_scratchpad(spin, kScratchpad);
  allow_scratchpad(spin_after, kScratchpad);
  const int cores = device().multiProcessorCount;
  for (const bool overlapped : {false, true}) {
    for (const int scratchpad : {0, kScratchpad}) {
      for (const int blocks : {1, cores}) {
        const std::string parameter = std::to_string(blocks) + " blocks of 256 threads " +
                                      std::to_string(scratchpad / 1024) + " KB";
        const double gap =
            per_kernel(blocks, 256, scratchpad, kCycles, overlapped) - kCycles / (gigahertz * 1e9);
        row(kGroup, overlapped ? "between_kernels_overlapped" : "between_kernels", parameter,
            gap * 1e9, "ns");
      }
    }
  }
  row(kGroup, "empty_kernel", std::to_string(cores) + " blocks of 256 threads",
      per_kernel(cores, 256, 0, 0, false) * 1e9, "ns");
}

// --- Scratchpad

__global__ void chase_scratchpad(int loads, int stride, long long* out) {
  extern __shared__ unsigned shared[];
  constexpr int kWords = 8192;
  for (int word = threadIdx.x; word < kWords; word += blockDim.x) {
    shared[word] = shared_address(&shared[(word + stride) % kWords]);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned at = shared_address(shared);
  const long long begin = clock64();
#pragma unroll 16
  for (int load = 0; load < loads; ++load) {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  }
  const long long end = clock64();
  out[0] = end - begin;
  out[1] = at;
}

void scratchpad() {
  constexpr int kLoads = 4096;
  constexpr int kBytes = 32 * 1024;
  allow_scratchpad(chase_scratchpad, kBytes);
  Cycles out(2);
  for (int repeat = 0; repeat < 2; ++repeat) {
    chase_scratchpad<<<1, 32, kBytes>>>(kLoads, 32, out.on_device);
    finish();
  }
  row(kGroup, "scratchpad_latency", "1 thread", static_cast<double>(out.read()[0]) / kLoads,
      "cycles");
}

// --- Barriers

__device__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Two warps hand a word to and fro: half of a round is what lies between an arrival and the waiter
// going on.
__global__ void hand_over(int rounds, long long* out) {
  __shared__ alignas(8) unsigned long long barriers[2];
  if (threadIdx.x == 0) {
    for (unsigned long long& barrier : barriers) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    }
  }
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  const unsigned mine = shared_address(&barriers[threadIdx.x / 32]);
  const unsigned other = shared_address(&barriers[1 - threadIdx.x / 32]);
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      arrive(other);
      wait_for(mine, round & 1);
    } else {
      wait_for(mine, round & 1);
      arrive(other);
    }
  }
  if (threadIdx.x == 0) out[0] = clock64() - begin;
}

__global__ void ready_already(int rounds, long long* out) {
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned address = shared_address(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address));
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    arrive(address);
    wait_for(address, round & 1);
  }
  out[0] = clock64() - begin;
}

void barriers() {
  constexpr int kRounds = 2000;
  Cycles out(1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    hand_over<<<1, 64>>>(kRounds, out.on_device);
    finish();
  }
  row(kGroup, "barrier_one_way", "mbarrier between 2 warps",
      static_cast<double>(out.read()[0]) / kRounds / 2, "cycles");
  for (int repeat = 0; repeat < 2; ++repeat) {
    ready_already<<<1, 1>>>(kRounds, out.on_device);
    finish();
  }
  row(kGroup, "barrier_arrive_and_wait", "mbarrier one thread",
      static_cast<double>(out.read()[0]) / kRounds, "cycles");
}

// --- Lanes

// Eight independent chains a thread, so that latency does not bound the rate. STATEMENT works on
// v[i].
#define LANE_KERNEL(NAME, STATEMENT)                              \
  __global__ void NAME(int rounds, float start, long long* out) { \
    float v[8];                                                   \
    for (int i = 0; i < 8; ++i) v[i] = start + 0.5f + i * 0.01f;  \
    __syncthreads();                                              \
    const long long begin = clock64();                            \
    for (int round = 0; round < rounds; ++round) {                \
      _Pragma("unroll") for (int i = 0; i < 8; ++i) {             \
        STATEMENT;                                                \
      }                                                           \
      _Pragma("unroll") for (int i = 0; i < 8; ++i) {             \
        STATEMENT;                                                \
      }                                                           \
    }                                                             \
    __syncthreads();                                              \
    if (threadIdx.x == 0) out[0] = clock64() - begin;             \
    float sum = 0;                                                \
    for (int i = 0; i < 8; ++i) sum += v[i];                      \
    if (sum == 12345.678f) out[1] = 1;                            \
  }

LANE_KERNEL(lane_add, asm volatile("add.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(start)))
LANE_KERNEL(lane_mul, asm volatile("mul.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(start)))
LANE_KERNEL(lane_fma, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v[i]) : "f"(start)))
LANE_KERNEL(lane_max, asm volatile("max.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(start)))
LANE_KERNEL(lane_select,
            asm volatile("{.reg .pred p; setp.gt.f32 p, %0, %1; selp.f32 %0, %1, %0, p;}"
                         : "+f"(v[i])
                         : "f"(start)))
LANE_KERNEL(lane_exp2, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[i])))
// The assembler takes the reciprocal of a reciprocal for nothing.
LANE_KERNEL(lane_reciprocal, asm volatile("rcp.approx.ftz.f32 %0, %0;\nadd.f32 %0, %0, %1;"
                                          : "+f"(v[i])
                                          : "f"(start)))
LANE_KERNEL(lane_root, asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(v[i])))
LANE_KERNEL(lane_tanh, asm volatile("tanh.approx.f32 %0, %0;" : "+f"(v[i])))
LANE_KERNEL(lane_divide, v[i] = v[i] / (start + 1.5f))
LANE_KERNEL(lane_exp, v[i] = expf(v[i] - 3.0f))
// Two elements an instruction: the rate below counts elements.
LANE_KERNEL(lane_to_f16, asm volatile("{.reg .b32 h; cvt.rn.f16x2.f32 h, %0, %1; mov.b32 %0, h;}"
                                      : "+f"(v[i])
                                      : "f"(start)))

void lanes() {
  struct Kind {
    const char* name;
    void (*kernel)(int, float, long long*);
    int elements;
  };
  constexpr Kind kKinds[] = {
      {"add", lane_add, 1},
      {"mul", lane_mul, 1},
      {"fma", lane_fma, 1},
      {"max", lane_max, 1},
      {"compare_select", lane_select, 1},
      {"exp2", lane_exp2, 1},
      {"reciprocal_and_add", lane_reciprocal, 1},
      {"reciprocal_root", lane_root, 1},
      {"tanh", lane_tanh, 1},
      {"divide_ieee", lane_divide, 1},
      {"exp_library", lane_exp, 1},
      {"convert_f16", lane_to_f16, 2},
  };
  constexpr int kRounds = 500;
  Cycles out(2);
  for (const Kind& kind : kKinds) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      kind.kernel<<<1, 1024>>>(kRounds, 1.0f, out.on_device);
      finish();
    }
    row(kGroup, "lanes", kind.name,
        1024.0 * 16 * kRounds * kind.elements / static_cast<double>(out.read()[0]),
        "results/cycle");
  }
}

// --- Matrix units

__global__ void older_family(int rounds, long long* out) {
  float d[4][4] = {};
  const unsigned a[4] = {threadIdx.x, 1, 2, 3};
  const unsigned b[2] = {threadIdx.x, 5};
  __syncthreads();
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = clock64() - begin;
  if (d[0][0] + d[1][1] + d[2][2] + d[3][3] == 12345.678f) out[1] = 1;
}

__global__ void older_latency(int rounds, long long* out) {
  float d[4] = {};
  const unsigned a[4] = {threadIdx.x, 1, 2, 3};
  const unsigned b[2] = {threadIdx.x, 5};
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  if (threadIdx.x == 0) out[0] = clock64() - begin;
  if (d[0] == 12345.678f) out[1] = 1;
}

// One or two warp groups multiply 64 x N x 64 parts that lie in the scratchpad (rows of 128 bytes,
// swizzled), A from there or from registers. `pipelined`: waits only at the end; otherwise for each
// product of 64 x N x 16.
template <int N, bool kRegisters, bool kPipelined>
__global__ void warp_group(int rounds, long long* out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char tile[];
  for (int at = threadIdx.x * 4; at < 96 * 1024; at += blockDim.x * 4) {
    *reinterpret_cast<unsigned*>(tile + at) = 0x2c002c00u + ((at * 2654435761u) & 0x03ff03ffu);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[N / 2] = {};
  const unsigned a[4] = {0x2c002c01u, 0x2c012c00u, 0x2c032c02u, threadIdx.x & 0xffu};
  const uint64_t left = scratchpad_matrix(shared_address(tile) + (threadIdx.x / 128) * 8192);
  const uint64_t right = scratchpad_matrix(shared_address(tile) + 16384);
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      if constexpr (kRegisters) {
        multiply_registers<N>(d, a, right + part * 2);
      } else {
        multiply_scratchpad<N>(d, left + part * 2, right + part * 2);
      }
      if constexpr (!kPipelined) {
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
      }
    }
    if constexpr (kPipelined) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) out[0] = clock64() - begin;
  float sum = 0;
  for (int i = 0; i < N / 2; ++i) sum += d[i];
  if (sum == 12345.678f) out[1] = 1;
#endif
}

template <int N, bool kRegisters, bool kPipelined>
double cycles_of_product(int groups, Cycles& out) {
  constexpr int kRounds = 500;
  constexpr int kBytes = 100 * 1024;
  allow_scratchpad(warp_group<N, kRegisters, kPipelined>, kBytes);
  for (int repeat = 0; repeat < 2; ++repeat) {
    warp_group<N, kRegisters, kPipelined><<<1, 128 * groups, kBytes>>>(kRounds, out.on_device);
    finish();
  }
  return static_cast<double>(out.read()[0]) / kRounds / 4;
}

template <int N>
void warp_group_rows(Cycles& out) {
  const std::string shape = "64x" + std::to_string(N) + "x16";
  for (const int groups : {1, 2}) {
    const double flops = 2.0 * 64 * N * 16 * groups;
    const std::string suffix = shape + " groups=" + std::to_string(groups);
    row(kGroup, "matrix_rate_both_from_scratchpad", suffix,
        flops / cycles_of_product<N, false, true>(groups, out), "flop/cycle");
    row(kGroup, "matrix_rate_left_from_registers", suffix,
        flops / cycles_of_product<N, true, true>(groups, out), "flop/cycle");
  }
  row(kGroup, "matrix_latency", shape, cycles_of_product<N, false, false>(1, out), "cycles");
}

void matrix_units() {
  constexpr int kRounds = 1000;
  Cycles out(2);
  for (const int warps : {4, 8, 16, 32}) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      older_family<<<1, 32 * warps>>>(kRounds, out.on_device);
      finish();
    }
    row(kGroup, "matrix_rate_older_family", "16x8x16 warps=" + std::to_string(warps),
        2.0 * 16 * 8 * 16 * 4 * warps * kRounds / static_cast<double>(out.read()[0]), "flop/cycle");
  }
  for (int repeat = 0; repeat < 2; ++repeat) {
    older_latency<<<1, 32>>>(kRounds, out.on_device);
    finish();
  }
  row(kGroup, "matrix_latency", "16x8x16", static_cast<double>(out.read()[0]) / kRounds, "cycles");
  warp_group_rows<8>(out);
  warp_group_rows<16>(out);
  warp_group_rows<32>(out);
  warp_group_rows<64>(out);
  warp_group_rows<128>(out);
  warp_group_rows<256>(out);
}

}  // namespace

int main() {
  const double gigahertz = clock_gigahertz();
  row(kGroup, "clock", "one warp spinning", gigahertz, "GHz");
  launches(gigahertz);
  scratchpad();
  barriers();
  lanes();
  matrix_units();
}
