// The memory that all cores share: latency and rate of L2 and DRAM by footprint, the port of a
// core, stores and sums in the L2, and copies that reach several scratchpads of a cluster at once.
#include <cooperative_groups.h>

#include <cstdint>
#include <numeric>
#include <random>

#include "measure.h"

namespace cg = cooperative_groups;

namespace {

constexpr const char* kGroup = "memory";
constexpr int64_t kMegabyte = 1 << 20;

std::string megabytes(int64_t bytes) {
  return std::to_string(bytes / kMegabyte) + " MB";
}

// --- Latency

constexpr int kLine = 128;

__global__ void chase(const uint64_t* start, int loads, long long* out) {
  const uint64_t* at = start;
  const long long begin = clock64();
#pragma unroll 8
  for (int load = 0; load < loads; ++load) {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
  }
  out[0] = clock64() - begin;
  out[1] = reinterpret_cast<long long>(at);
}

void latency(char* memory) {
  std::mt19937_64 random(1);
  for (const int64_t size : {1, 4, 16, 24, 32, 40, 48, 64, 128, 512}) {
    const int64_t lines = size * kMegabyte / kLine;
    std::vector<int64_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), random);
    std::vector<char> image(size * kMegabyte);
    for (int64_t at = 0; at < lines; ++at) {
      const char* next = memory + order[(at + 1) % lines] * kLine;
      *reinterpret_cast<const char**>(image.data() + order[at] * kLine) = next;
    }
    CHECK(cudaMemcpy(memory, image.data(), image.size(), cudaMemcpyHostToDevice));
    const int loads = static_cast<int>(std::min<int64_t>(lines, 100000));
    Cycles out(2);
    // Footprints that the L2 may hold are walked as a whole before.
    if (size <= 64)
      chase<<<1, 1>>>(reinterpret_cast<const uint64_t*>(memory), static_cast<int>(lines),
                      out.on_device);
    chase<<<1, 1>>>(reinterpret_cast<const uint64_t*>(memory), loads, out.on_device);
    finish();
    row(kGroup, "latency", megabytes(size * kMegabyte), static_cast<double>(out.read()[0]) / loads,
        "cycles");
  }
}

// --- Rates

// Every block reads its share of `bytes`, `rounds` times; in each round the share of another block,
// so that what is read again comes from the L2 and not from the core.
__global__ void read_all(const uint4* memory, int64_t vectors, int rounds, unsigned* out) {
  unsigned sum = 0;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    const int64_t first =
        static_cast<int64_t>((blockIdx.x + round * 37) % gridDim.x) * blockDim.x + threadIdx.x;
#pragma unroll 8
    for (int64_t at = first; at < vectors; at += step) {
      uint4 value;
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                   : "l"(memory + at));
      sum += value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  if (sum == 0x12345678u) out[0] = sum;
}

__global__ void write_all(uint4* memory, int64_t vectors) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < vectors;
       at += step) {
    memory[at] = make_uint4(static_cast<unsigned>(at), 1, 2, 3);
  }
}

__global__ void copy_all(const uint4* from, uint4* to, int64_t vectors) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < vectors;
       at += step) {
    to[at] = from[at];
  }
}

__global__ void write_again(uint4* memory, int64_t vectors, int rounds) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    const int64_t first =
        static_cast<int64_t>((blockIdx.x + round * 37) % gridDim.x) * blockDim.x + threadIdx.x;
    for (int64_t at = first; at < vectors; at += step)
      memory[at] = make_uint4(static_cast<unsigned>(at), round, 2, 3);
  }
}

// Reads that the core's own cache must not serve: another block's share in each round.
__global__ void copy_again(const uint4* from, uint4* to, int64_t vectors, int rounds) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    const int64_t first =
        static_cast<int64_t>((blockIdx.x + round * 37) % gridDim.x) * blockDim.x + threadIdx.x;
#pragma unroll 4
    for (int64_t at = first; at < vectors; at += step) to[at] = __ldcg(from + at);
  }
}

void rates(char* memory) {
  const int blocks = device().multiProcessorCount * 2;
  unsigned* out = nullptr;
  CHECK(cudaMalloc(&out, 4));
  for (const int64_t size :
       {2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 128, 512, 4096}) {
    const int64_t bytes = size * kMegabyte;
    const int rounds = static_cast<int>(std::max<int64_t>(1, 4096 / size));
    const double seconds = seconds_of(
        [&] {
          read_all<<<blocks, 1024>>>(reinterpret_cast<const uint4*>(memory), bytes / 16, rounds,
                                     out);
        },
        5);
    row(kGroup, "read", megabytes(bytes), static_cast<double>(bytes) * rounds / seconds * 1e-9,
        "GB/s");
  }
  constexpr int64_t kLarge = 2048 * kMegabyte;
  const double writing = seconds_of(
      [&] { write_all<<<blocks, 1024>>>(reinterpret_cast<uint4*>(memory), kLarge / 16); });
  row(kGroup, "write", megabytes(kLarge), kLarge / writing * 1e-9, "GB/s");
  const double copying = seconds_of([&] {
    copy_all<<<blocks, 1024>>>(reinterpret_cast<const uint4*>(memory),
                               reinterpret_cast<uint4*>(memory + kLarge), kLarge / 16);
  });
  row(kGroup, "copy_read_and_written", megabytes(kLarge), 2.0 * kLarge / copying * 1e-9, "GB/s");
  // In the L2: reads and stores at once, again and again.
  for (const int64_t size : {4, 8, 12}) {
    const int64_t bytes = size * kMegabyte;
    constexpr int kRounds = 64;
    const double again = seconds_of([&] {
      copy_again<<<blocks, 1024>>>(reinterpret_cast<const uint4*>(memory),
                                   reinterpret_cast<uint4*>(memory + bytes), bytes / 16, kRounds);
    });
    row(kGroup, "copy_read_and_written", megabytes(bytes), 2.0 * bytes * kRounds / again * 1e-9,
        "GB/s");
    const double stored = seconds_of([&] {
      write_again<<<blocks, 1024>>>(reinterpret_cast<uint4*>(memory), bytes / 16, kRounds);
    });
    row(kGroup, "write", megabytes(bytes), 1.0 * bytes * kRounds / stored * 1e-9, "GB/s");
  }
  CHECK(cudaFree(out));
}

// --- The copy engine: one core's port, all ports, multicast

constexpr int kStages = 6;
constexpr int kStageBytes = 32 * 1024;

__device__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Each core of a cluster loads `loads` stages of kStageBytes. Apart: its own copy of each stage,
// from memory that its cluster shares (same addresses for all cores of the cluster). With
// multicast: its part of the stage, to all, as soon as all have said that the stage is free
// (without a fence, as CUTLASS does it). `stride`: stages between the first of one cluster and of
// the next.
template <bool kMulticast>
__global__ void load_stages(const char* memory, int64_t footprint, int stride, int loads,
                            long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char stages[];
  __shared__ alignas(8) unsigned long long full[kStages];
  __shared__ alignas(8) unsigned long long empty[kStages];
  const cg::cluster_group cluster = cg::this_cluster();
  const int cores = static_cast<int>(cluster.num_blocks());
  const int rank = static_cast<int>(cluster.block_rank());
  const int lane = threadIdx.x;
  const int64_t cluster_at = blockIdx.x / cores;
  if (lane == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[stage])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[stage])),
                   "r"(cores));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  const long long begin = clock64();
  for (int load = 0; load < loads + kStages; ++load) {
    const int stage = load % kStages;
    const unsigned barrier = shared_address(&full[stage]);
    if (load >= kStages) {
      const unsigned parity = (load / kStages - 1) & 1;
      wait_for(barrier, parity);
      if constexpr (kMulticast) {
        if (lane < cores) {
          unsigned other = 0;
          asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                       : "=r"(other)
                       : "r"(shared_address(&empty[stage])), "r"(lane));
          asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
        }
        if (load < loads) wait_for(shared_address(&empty[stage]), parity);
      }
      __syncwarp();
    }
    if (load >= loads || lane != 0) continue;
    expect(barrier, kStageBytes);
    const char* from = memory + (cluster_at * stride + load) * kStageBytes % footprint;
    const unsigned to = shared_address(stages) + stage * kStageBytes;
    if constexpr (kMulticast) {
      const int part = kStageBytes / cores;
      const unsigned short mask = static_cast<unsigned short>((1u << cores) - 1);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%0], [%1], %2, [%3], %4;" ::"r"(to + rank * part),
          "l"(from + rank * part), "r"(part), "r"(barrier), "h"(mask)
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(to),
          "l"(from), "r"(kStageBytes), "r"(barrier)
          : "memory");
    }
  }
  if (lane == 0) out[blockIdx.x] = clock64() - begin;
  cluster.sync();
#endif
}

// One tile after the other, each waited for: what a load takes from its issue until its waiter goes
// on.
__global__ void load_and_wait(const char* memory, int bytes, int loads, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char stages[];
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x != 0) return;
  const unsigned barrier = shared_address(&full);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const long long begin = clock64();
  for (int load = 0; load < loads; ++load) {
    expect(barrier, bytes);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(stages)),
        "l"(memory + static_cast<int64_t>(load % 64) * bytes), "r"(bytes), "r"(barrier)
        : "memory");
    wait_for(barrier, load & 1);
  }
  out[0] = clock64() - begin;
#endif
}

void single_loads(const char* memory) {
  constexpr int kLoads = 1000;
  constexpr int kMost = 64 * 1024;
  allow_scratchpad(load_and_wait, kMost);
  Cycles out(1);
  for (const int bytes : {128, 1024, 4096, 16384, 65536}) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      load_and_wait<<<1, 32, kMost>>>(memory, bytes, kLoads, out.on_device);
      finish();
    }
    row(kGroup, "one_load_from_l2", std::to_string(bytes) + " bytes",
        static_cast<double>(out.read()[0]) / kLoads, "cycles");
  }
}

// Bytes that arrive in one scratchpad a cycle (the middle of all cores).
template <bool kMulticast>
double arriving(const char* memory, int64_t footprint, int stride, int blocks, int cores,
                int loads) {
  Cycles out(blocks);
  for (int repeat = 0; repeat < 3; ++repeat) {
    launch(load_stages<kMulticast>, blocks, 32, kStages * kStageBytes, cores, memory, footprint,
           stride, loads, out.on_device);
    finish();
  }
  return static_cast<double>(loads) * kStageBytes / out.middle();
}

void copy_engine(const char* memory) {
  constexpr int kLoads = 600;
  for (const int blocks : {1, 2, 4, 8, 16, 32, 64, 132}) {
    row(kGroup, "port_from_l2", std::to_string(blocks) + " cores",
        arriving<false>(memory, 16 * kMegabyte, 7, blocks, 1, kLoads), "bytes/cycle/core");
  }
  for (const int blocks : {1, 8, 32, 132}) {
    row(kGroup, "port_from_dram", std::to_string(blocks) + " cores",
        arriving<false>(memory, 4096 * kMegabyte, kLoads, blocks, 1, kLoads), "bytes/cycle/core");
  }
  for (const int cores : {2, 4, 8, 16}) {
    const int blocks = (cores == 16 ? 112 : cores == 8 ? 120 : cores == 4 ? 120 : 132);
    const std::string parameter = "cluster=" + std::to_string(cores);
    row(kGroup, "same_tile_loaded_by_each", parameter,
        arriving<false>(memory, 16 * kMegabyte, 7, blocks, cores, kLoads), "bytes/cycle/core");
    row(kGroup, "same_tile_by_multicast", parameter,
        arriving<true>(memory, 16 * kMegabyte, 7, blocks, cores, kLoads), "bytes/cycle/core");
  }
}

// --- Stores and sums in memory, of tiles that the L2 holds

enum class Write { store, add_f16, add_f32 };

// Each block writes its scratchpad `rounds` times, `bytes` at a time, to places that differ from
// those of its neighbours, as clusters do that share a result.
template <Write kWrite>
__global__ void write_tiles(char* memory, int64_t footprint, int bytes, int rounds) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char tile[];
  for (int at = threadIdx.x; at < bytes; at += blockDim.x) tile[at] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned from = shared_address(tile);
  for (int round = threadIdx.x; round < rounds; round += blockDim.x) {
    char* to = memory + (static_cast<int64_t>(blockIdx.x) * 97 + round) * bytes % footprint;
    if constexpr (kWrite == Write::store) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                   "r"(from), "r"(bytes)
                   : "memory");
    } else if constexpr (kWrite == Write::add_f16) {
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;" ::"l"(
              to),
          "r"(from), "r"(bytes)
          : "memory");
    } else {
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
          "r"(from), "r"(bytes)
          : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 7;" ::: "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

// The same sums by the lanes: one number of f32 a thread, or four.
template <typename Number>
__global__ void add_numbers(Number* memory, int64_t numbers, int rounds) {
#if __CUDA_ARCH__ >= 900
  Number zero{};
  for (int round = 0; round < rounds; ++round) {
    const int64_t at = (static_cast<int64_t>(blockIdx.x) * 97 + round) * blockDim.x + threadIdx.x;
    atomicAdd(memory + at % numbers, zero);
  }
#endif
}

void writes(char* memory) {
  const int blocks = device().multiProcessorCount;
  const auto report = [&](const char* what, int64_t footprint, const std::string& each,
                          double bytes, double seconds) {
    row(kGroup, what, std::to_string(footprint / 1024) + " KB " + each, bytes / seconds * 1e-9,
        "GB/s");
  };
  for (const int64_t footprint : {192 * 1024ll, 1536 * 1024ll, 12288 * 1024ll}) {
    for (const int bytes : {256, 2048, 16384}) {
      const int rounds = 8 * 1024 * 1024 / bytes;
      const std::string each = std::to_string(bytes) + " bytes each";
      const auto time = [&](const char* what, auto kernel) {
        const double seconds =
            seconds_of([&] { kernel<<<blocks, 32, bytes>>>(memory, footprint, bytes, rounds); }, 3);
        report(what, footprint, each, static_cast<double>(blocks) * rounds * bytes, seconds);
      };
      time("store_tiles", write_tiles<Write::store>);
      time("add_tiles_f16", write_tiles<Write::add_f16>);
      time("add_tiles_f32", write_tiles<Write::add_f32>);
    }
    constexpr int kRounds = 256;
    const double single = seconds_of(
        [&] {
          add_numbers<<<blocks, 1024>>>(reinterpret_cast<float*>(memory), footprint / 4, kRounds);
        },
        3);
    report("add_numbers_f32", footprint, "one a thread", 4.0 * blocks * 1024 * kRounds, single);
    const double fours = seconds_of(
        [&] {
          add_numbers<<<blocks, 1024>>>(reinterpret_cast<float4*>(memory), footprint / 16, kRounds);
        },
        3);
    report("add_numbers_f32", footprint, "four a thread", 16.0 * blocks * 1024 * kRounds, fours);
  }
}

}  // namespace

int main() {
  char* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4608 * kMegabyte));
  CHECK(cudaMemset(memory, 1, 4608 * kMegabyte));
  single_loads(memory);
  copy_engine(memory);
  writes(memory);
  rates(memory);
  latency(memory);
  CHECK(cudaFree(memory));
}
