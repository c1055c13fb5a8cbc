// Cores of a cluster: how many run at once by its size, latency and rate of reading and writing
// each other's scratchpad, a word to another core, a barrier of all.
#include <cooperative_groups.h>

#include <cstdint>

#include "measure.h"

namespace cg = cooperative_groups;

namespace {

constexpr const char* kGroup = "links";
constexpr int kBytes = 128 * 1024;
constexpr int kClusterSizes[] = {1, 2, 4, 8, 16};

__device__ unsigned remote_address(unsigned address, unsigned rank) {
  unsigned result = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
#endif
  return result;
}

// Cores at work when each block fills one: what the device says, and it is what a grid can have at
// once.
template <typename Kernel>
int active_cores(Kernel kernel, int cores) {
  const ClusterLaunch all(kernel, cores * 64, 256, 220 * 1024, cores);
  int clusters = 0;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, kernel, &all.config));
  return clusters * cores;
}

// Rank 0 walks words in the scratchpad of rank `target`.
__global__ void chase(int loads, int target, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned words[];
  constexpr int kWords = 4096;
  constexpr int kStride = 32;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned mine = remote_address(shared_address(words), cluster.block_rank());
  for (int word = threadIdx.x; word < kWords; word += blockDim.x)
    words[word] = mine + 4 * ((word + kStride) % kWords);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    unsigned at = remote_address(shared_address(words), target);
    const long long begin = clock64();
#pragma unroll 8
    for (int load = 0; load < loads; ++load)
      asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at));
    const long long end = clock64();
    out[0] = end - begin;
    out[1] = at;
  }
  cluster.sync();
#endif
}

// Every core reads another's scratchpad, all threads 16 bytes at a time. `spread`: a different core
// each round; otherwise the next one.
__global__ void read_others(int rounds, bool spread, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned words[];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned cores = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  for (unsigned word = threadIdx.x; word < kBytes / 4; word += blockDim.x) words[word] = word;
  cluster.sync();
  unsigned sum = 0;  // Loads whose results are not used are left out by the assembler.
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    const unsigned distance = spread && cores > 1 ? 1 + round % (cores - 1) : 1;
    const unsigned from =
        remote_address(shared_address(words), (rank + distance) % cores) + threadIdx.x * 16;
#pragma unroll
    for (int part = 0; part < 8; ++part) {
      unsigned a, b, c, d;
      asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(from + part * 16384));
      sum += a ^ b ^ c ^ d;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin + (sum == 0x12345678u ? 1 : 0);
  cluster.sync();
#endif
}

// Every core writes another's scratchpad, all threads 16 bytes at a time.
__global__ void write_others(int rounds, bool spread, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned words[];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned cores = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  cluster.sync();
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    const unsigned distance = spread && cores > 1 ? 1 + round % (cores - 1) : 1;
    const unsigned to =
        remote_address(shared_address(words), (rank + distance) % cores) + threadIdx.x * 16;
#pragma unroll
    for (int part = 0; part < 8; ++part) {
      asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(to + part * 16384),
                   "r"(round)
                   : "memory");
    }
  }
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin;
#endif
}

// Every core copies blocks of its scratchpad into another's by the copy engine.
__global__ void copy_to_others(int copies, int bytes, bool spread, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char stages[];
  __shared__ alignas(8) unsigned long long barriers[2];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned cores = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    for (unsigned long long& barrier : barriers) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // All that will arrive here, in one phase: it must stay below 2^20 bytes.
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(&barriers[0])),
                 "r"(copies * bytes)
                 : "memory");
  }
  cluster.sync();
  const long long begin = clock64();
  if (threadIdx.x == 0) {
    for (int copy = 0; copy < copies; ++copy) {
      const unsigned distance = spread && cores > 1 ? 1 + copy % (cores - 1) : 1;
      const unsigned target = (rank + distance) % cores;
      const unsigned from = shared_address(stages) + (copy % 2) * bytes;
      const unsigned to = remote_address(shared_address(stages) + (2 + copy % 2) * bytes, target);
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(to),
          "r"(from), "r"(bytes), "r"(remote_address(shared_address(&barriers[0]), target))
          : "memory");
    }
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], "
          "0;\nselp.u32 %0, 1, 0, p;}"
          : "=r"(done)
          : "r"(shared_address(&barriers[0]))
          : "memory");
    }
    out[blockIdx.x] = clock64() - begin;
  }
  cluster.sync();
#endif
}

// Two cores hand a word to and fro (mbarrier): half of a round is what lies between an arrival and
// the waiter. With `kFenced`, what the core wrote before is seen by the other (release and acquire
// at the scope of the cluster), which ordinary stores need; without, what only says that there is
// room, as CUTLASS does it.
template <bool kFenced>
__global__ void hand_over(int rounds, int target, long long* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(8) unsigned long long barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  if (threadIdx.x == 0 && (rank == 0 || rank == target)) {
    const unsigned mine = shared_address(&barrier);
    const unsigned other = remote_address(mine, rank == 0 ? target : 0);
    const long long begin = clock64();
    for (int turn = 0; turn < 2 * rounds; ++turn) {
      if ((turn % 2 == 0) == (rank == 0)) {
        if constexpr (kFenced) {
          asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other)
                       : "memory");
        } else {
          asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
        }
        continue;
      }
      const unsigned parity = turn / 2 % 2;
      unsigned done = 0;
      while (done == 0) {
        if constexpr (kFenced) {
          asm volatile(
              "{.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], "
              "%2;\nselp.u32 %0, 1, "
              "0, p;}"
              : "=r"(done)
              : "r"(mine), "r"(parity)
              : "memory");
        } else {
          asm volatile(
              "{.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, "
              "1, 0, p;}"
              : "=r"(done)
              : "r"(mine), "r"(parity)
              : "memory");
        }
      }
    }
    if (rank == 0) out[0] = clock64() - begin;
  }
  cluster.sync();
#endif
}

// Two cores send a tile to and fro by the copy engine: half of a round is what lies between the
// issue of a copy and the other core's going on.
__global__ void send_tile(int rounds, int target, int bytes, long long* out) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char stages[];
  __shared__ alignas(8) unsigned long long barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const unsigned mine = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(mine));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mine), "r"(bytes)
                 : "memory");
  }
  cluster.sync();
  if (threadIdx.x == 0 && (rank == 0 || rank == target)) {
    const unsigned other = rank == 0 ? target : 0;
    const long long begin = clock64();
    for (int turn = 0; turn < 2 * rounds; ++turn) {
      if ((turn % 2 == 0) == (rank == 0)) {
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
            "%2, [%3];" ::"r"(remote_address(shared_address(stages) + 32768, other)),
            "r"(shared_address(stages)), "r"(bytes), "r"(remote_address(mine, other))
            : "memory");
        continue;
      }
      unsigned done = 0;
      while (done == 0) {
        asm volatile(
            "{.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, "
            "1, 0, p;}"
            : "=r"(done)
            : "r"(mine), "r"(turn / 2 % 2)
            : "memory");
      }
      // Before the answer leaves, so that the next tile finds it.
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mine), "r"(bytes)
                   : "memory");
    }
    if (rank == 0) out[0] = clock64() - begin;
  }
  cluster.sync();
#endif
}

template <bool kFenced>
__global__ void barrier_of_all(int rounds, long long* out) {
#if __CUDA_ARCH__ >= 900
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    if constexpr (kFenced) {
      asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    } else {
      asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                       : "memory");
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin;
  cluster.sync();
#endif
}

void rate_rows(const char* what, const std::string& parameter, int blocks, double bytes,
               const Cycles& out, double gigahertz) {
  const double each = bytes / out.middle();
  row(kGroup, what, parameter, each, "bytes/cycle/core");
  row(kGroup, what, parameter, each * blocks * gigahertz, "GB/s");
}

// Mean over the other cores of the cluster of what `one` tells of rank 0 and each of them.
template <typename One>
double over_targets(int cores, One one) {
  double sum = 0;
  for (int target = cores > 1 ? 1 : 0; target < cores; ++target) sum += one(target);
  return sum / std::max(1, cores - 1);
}

void pairs(int cores, const std::string& cluster) {
  constexpr int kLoads = 4096;
  Cycles out(2);
  const auto twice = [&](auto kernel, int bytes, int target) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      launch(kernel, cores, 32, bytes, cores, kLoads, target, out.on_device);
      finish();
    }
    return static_cast<double>(out.read()[0]) / kLoads;
  };
  row(kGroup, "read_latency_mean", cluster,
      over_targets(cores, [&](int target) { return twice(chase, kBytes, target); }), "cycles");
  if (cores == 1) return;
  for (const int bytes : {128, 4096, 32768}) {
    const auto one = [&](int target) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        launch(send_tile, cores, 32, 65536, cores, kLoads, target, bytes, out.on_device);
        finish();
      }
      return static_cast<double>(out.read()[0]) / kLoads / 2;
    };
    row(kGroup, "tile_one_way_mean", cluster + " bytes=" + std::to_string(bytes),
        over_targets(cores, one), "cycles");
  }
  row(kGroup, "word_one_way_mean", cluster,
      over_targets(cores, [&](int target) { return twice(hand_over<false>, 0, target) / 2; }),
      "cycles");
  row(kGroup, "word_one_way_mean", cluster + " fenced",
      over_targets(cores, [&](int target) { return twice(hand_over<true>, 0, target) / 2; }),
      "cycles");
}

void rates(int cores, int blocks, const std::string& parameter, double gigahertz) {
  constexpr int kRounds = 500;
  constexpr int kBlock = 16 * 1024;
  constexpr int kCopies = 60;
  Cycles out(blocks);
  for (const bool spread : {false, true}) {
    if (spread && cores <= 2) continue;
    const std::string way = parameter + (spread ? " all in turn" : " next");
    for (int repeat = 0; repeat < 2; ++repeat) {
      launch(read_others, blocks, 1024, kBytes, cores, kRounds, spread, out.on_device);
      finish();
    }
    rate_rows("read_others", way, blocks, 1024.0 * 16 * 8 * kRounds, out, gigahertz);
    for (int repeat = 0; repeat < 2; ++repeat) {
      launch(write_others, blocks, 1024, kBytes, cores, kRounds, spread, out.on_device);
      finish();
    }
    rate_rows("write_others", way, blocks, 1024.0 * 16 * 8 * kRounds, out, gigahertz);
    if (cores == 1) continue;
    for (int repeat = 0; repeat < 2; ++repeat) {
      launch(copy_to_others, blocks, 32, kBytes, cores, kCopies, kBlock, spread, out.on_device);
      finish();
    }
    rate_rows("copy_to_others", way, blocks, static_cast<double>(kBlock) * kCopies, out, gigahertz);
  }
}

void barriers(int cores, int blocks, const std::string& parameter) {
  constexpr int kRounds = 1000;
  Cycles out(blocks);
  launch(barrier_of_all<false>, blocks, 256, 0, cores, kRounds, out.on_device);
  finish();
  row(kGroup, "barrier_of_all", parameter, out.middle() / kRounds, "cycles");
  launch(barrier_of_all<true>, blocks, 256, 0, cores, kRounds, out.on_device);
  finish();
  row(kGroup, "barrier_of_all", parameter + " fenced", out.middle() / kRounds, "cycles");
}

}  // namespace

int main() {
  const double gigahertz = clock_gigahertz();
  for (const int cores : kClusterSizes) {
    const std::string cluster = "cluster=" + std::to_string(cores);
    const int active = active_cores(read_others, cores);
    row(kGroup, "active_cores", cluster, active, "cores");
    pairs(cores, cluster);
    for (const int blocks : {cores, active}) {
      const std::string parameter = cluster + " cores=" + std::to_string(blocks);
      rates(cores, blocks, parameter, gigahertz);
      barriers(cores, blocks, parameter);
    }
  }
}
