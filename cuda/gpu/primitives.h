// The functions of one core in PTX: barriers, copies, memory. Threads [0, 128 kGroups) multiply;
// the warp after them produces. See host/primitives.h, which says what each needs to have happened
// before.
#pragma once

namespace ff {

constexpr int kMostViews = 16, kMostTensors = 64;

struct Params {
  CUtensorMap views[kMostViews];
  void* tensors[kMostTensors];
  float* sums;
  unsigned* counters;
  int rows;  ///< of kernels of a table of plans
};

template <int kGroups_>
struct CoreOf {
  static constexpr int kGroups = kGroups_;
  static constexpr int kThreads = kGroups * 128;  ///< that multiply
  static constexpr int kBlock = kThreads + 32;
  static constexpr int kWarps = kThreads / 32, kReleases = kWarps;
  static constexpr int kLanes = 32;  ///< of the producer
  unsigned scratchpad;
  int barriers;  ///< bytes from the scratchpad's start; the flag of last_adder is in the 16 before

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int warp() const { return static_cast<int>(threadIdx.x / 32); }
  __device__ int lane() const { return static_cast<int>(threadIdx.x % 32); }
  __device__ unsigned barrier(int i) const { return scratchpad + barriers + i * 8; }
  __device__ bool produces() const { return threadIdx.x >= kThreads; }
  /// One thread of each role.
  __device__ bool elected() const { return threadIdx.x == 0 || threadIdx.x == kThreads; }
};

template <class Core>
__device__ inline int cluster_of(const Core&) {
  int number;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
  return number;
}
template <class Core>
__device__ inline int rank_of(const Core&) {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
template <class Core>
__device__ inline bool is_producer(const Core& core) {
  return core.produces();
}

__device__ inline unsigned address_at(unsigned address, int rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

template <class Core>
__device__ inline void barrier_begin(const Core& core, int number, int count) {
  if (threadIdx.x == Core::kThreads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(core.barrier(number)), "r"(count)
                 : "memory");
  }
}
template <class Core>
__device__ inline void barrier_expect(const Core& core, int number, int bytes) {
  if (core.elected()) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(core.barrier(number)),
        "r"(bytes)
        : "memory");
  }
}
template <class Core>
__device__ inline void barrier_wait(const Core& core, int number, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(core.barrier(number)),
      "r"(parity)
      : "memory");
}
template <class Core>
__device__ inline void sender_wait(const Core& core, int number, unsigned parity) {
  if (core.warp() != 0) return;
  barrier_wait(core, number, parity);
  __syncwarp();
}
__device__ inline void arrive_remote(unsigned barrier, int rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   address_at(barrier, rank))
               : "memory");
}
template <class Core>
__device__ inline void barrier_arrive(const Core& core, int number, int rank) {
  if (core.elected()) arrive_remote(core.barrier(number), rank);
}
/// Each warp for itself.
template <class Core>
__device__ inline void barrier_release(const Core& core, int number, const Peers& peers) {
  __syncwarp();
  if (peers.count == 1) {
    if (core.lane() == 0) {
      asm volatile(
          "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(core.barrier(number))
          : "memory");
    }
    return;
  }
  if (core.lane() < peers.count) arrive_remote(core.barrier(number), peers.at(core.lane()));
}
template <class Core>
__device__ inline void cluster_sync(const Core&) {
  __syncwarp();
  asm volatile(
      "fence.mbarrier_init.release.cluster;\n"
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
template <class Core>
__device__ inline void group_sync(const Core& core) {
  if (core.produces()) {
    __syncwarp();
  } else {
    asm volatile("bar.sync 1, %0;" ::"n"(Core::kThreads) : "memory");
  }
}
template <class Core>
__device__ inline void fence_async(const Core&) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The CPU counts bytes.
template <class Core>
__device__ inline void note_gather(const Core&, int) {}

template <class Core>
__device__ inline void copy_box(const Core& core, int to, const Params& params, int view, int inner,
                                int outer, int batch, int, int, int barrier, const Peers& peers,
                                unsigned takers) {
  if (!core.elected()) return;
  if (peers.count == 1) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4}], "
        "[%5];" ::"r"(core.scratchpad + to),
        "l"(&params.views[view]), "r"(inner), "r"(outer), "r"(batch), "r"(core.barrier(barrier))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster [%0], "
        "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(core.scratchpad + to),
        "l"(&params.views[view]), "r"(inner), "r"(outer), "r"(batch), "r"(core.barrier(barrier)),
        "h"(static_cast<uint16_t>(peers.mask(takers)))
        : "memory");
  }
}
template <class Core>
__device__ inline void send(const Core& core, int rank, int from, int to, int bytes, int barrier) {
  if (!core.elected() || bytes == 0) return;
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(address_at(core.scratchpad + to, rank)),
      "r"(core.scratchpad + from), "r"(bytes), "r"(address_at(core.barrier(barrier), rank))
      : "memory");
}

/// Bits of elements.
template <Type kElement>
using BitsOf = std::conditional_t<bytes_of(kElement) == 1, uint8_t,
                                  std::conditional_t<bytes_of(kElement) == 2, uint16_t, uint32_t>>;

/// 16 bytes of elements.
template <Type kElement>
struct Chunk {
  union {
    BitsOf<kElement> bits[16 / bytes_of(kElement)];
    uint4 words;
  };
  __device__ void set(int i, BitsOf<kElement> value) { bits[i] = value; }
};
template <class Core, Type kElement>
__device__ inline void put_chunk(const Core& core, int at, const Chunk<kElement>& chunk) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(core.scratchpad + at),
               "r"(chunk.words.x), "r"(chunk.words.y), "r"(chunk.words.z), "r"(chunk.words.w)
               : "memory");
}
template <Type kElement>
__device__ inline BitsOf<kElement> read_bits(const Params& params, int tensor, long at) {
  const auto bits = __ldg(static_cast<const BitsOf<kElement>*>(params.tensors[tensor]) + at);
  if constexpr (kElement == Type::f32) return __float_as_uint(as_factor(__uint_as_float(bits)));
  return bits;
}
template <class Core>
__device__ inline void gathered(const Core& core, int barrier) {
  fence_async(core);
  __syncwarp();
  if (core.elected()) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(core.barrier(barrier))
                 : "memory");
  }
}
template <class Core>
__device__ inline void put_pair(const Core& core, int at, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(core.scratchpad + at), "f"(x), "f"(y)
               : "memory");
}
template <class Core>
__device__ inline void get_pair(const Core& core, int at, float& x, float& y) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(x), "=f"(y)
               : "r"(core.scratchpad + at)
               : "memory");
}
template <Type kElement, class Core>
__device__ inline void put_elements(const Core& core, int at, float x, float y) {
  if constexpr (kElement == Type::f32) {
    put_pair(core, at, as_factor(x), as_factor(y));
  } else if constexpr (bytes_of(kElement) == 1) {
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(core.scratchpad + at),
                 "h"(static_cast<unsigned short>(pair_bits(kElement, x, y)))
                 : "memory");
  } else {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(core.scratchpad + at),
                 "r"(pair_bits(kElement, x, y))
                 : "memory");
  }
}

/// What a warp's lanes have, combined: in all of them.
template <class Core, class Combine>
__device__ inline float across_lanes(const Core&, float x, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = combine(x, __shfl_xor_sync(0xffffffffU, x, distance));
  return x;
}

template <class Core>
__device__ inline void put_one(const Core& core, int at, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(core.scratchpad + at), "f"(x) : "memory");
}
template <class Core>
__device__ inline float get_one(const Core& core, int at) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(core.scratchpad + at) : "memory");
  return x;
}
template <class Core>
__device__ inline void put_own(const Core& core, int at, float x) {
  put_one(core, at, x);
}
template <class Core>
__device__ inline float get_own(const Core& core, int at) {
  return get_one(core, at);
}
template <Type kElement, class Core>
__device__ inline float get_element(const Core& core, int at) {
  if constexpr (kElement == Type::f32) {
    return get_one(core, at);
  } else {
    unsigned short bits;
    if constexpr (bytes_of(kElement) == 1) {
      asm volatile("ld.shared.u8 %0, [%1];" : "=h"(bits) : "r"(core.scratchpad + at) : "memory");
    } else {
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(core.scratchpad + at) : "memory");
    }
    return from_bits(kElement, bits);
  }
}
template <Type kElement, class Core>
__device__ inline void put_element(const Core& core, int at, float x) {
  if constexpr (kElement == Type::f32) {
    put_one(core, at, as_factor(x));
  } else {
    const unsigned short bits = to_bits(kElement, x);
    if constexpr (bytes_of(kElement) == 1) {
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(core.scratchpad + at), "h"(bits) : "memory");
    } else {
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(core.scratchpad + at), "h"(bits) : "memory");
    }
  }
}

FF_FN float element_at(Type type, const void* data, long at) {
  switch (type) {
    case Type::f32:
      return static_cast<const float*>(data)[at];
    case Type::u8:
      return static_cast<const unsigned char*>(data)[at];
    case Type::f8e4m3:
    case Type::f8e5m2:
      return from_bits(type, static_cast<const unsigned char*>(data)[at]);
    case Type::i8:
      return static_cast<const signed char*>(data)[at];
    case Type::i32:
      return static_cast<float>(static_cast<const int*>(data)[at]);
    case Type::i64:
      return static_cast<float>(static_cast<const long*>(data)[at]);
    default:
      return from_bits(type, static_cast<const unsigned short*>(data)[at]);
  }
}
/// `otherwise`: what the tensor has outside of its extents, where `at` is negative.
template <Type kType>
__device__ inline float read_element(const Params& params, int tensor, long at,
                                     float otherwise = 0) {
  return at < 0 ? otherwise : element_at(kType, params.tensors[tensor], at);
}
FF_FN void store_at(Type type, void* data, long at, float x) {
  switch (type) {
    case Type::f32:
      static_cast<float*>(data)[at] = x;
      return;
    case Type::u8:
      static_cast<unsigned char*>(data)[at] = static_cast<unsigned char>(x);
      return;
    case Type::i8:
      static_cast<signed char*>(data)[at] = static_cast<signed char>(x);
      return;
    case Type::i32:
      static_cast<int*>(data)[at] = static_cast<int>(x);
      return;
    case Type::i64:
      static_cast<long*>(data)[at] = static_cast<long>(x);
      return;
    case Type::f8e4m3:
    case Type::f8e5m2:
      static_cast<unsigned char*>(data)[at] = static_cast<unsigned char>(to_bits(type, x));
      return;
    default:
      static_cast<unsigned short*>(data)[at] = to_bits(type, x);
  }
}
template <Type kType>
__device__ inline void store_element(const Params& params, int tensor, long at, float x) {
  if (at >= 0) store_at(kType, params.tensors[tensor], at, x);
}
template <Type kType>
__device__ inline void store_pair(const Params& params, int tensor, long first, long second,
                                  float x, float y) {
  if (first < 0 || second != first + 1 || first % 2 != 0) {
    store_element<kType>(params, tensor, first, x);
    store_element<kType>(params, tensor, second, y);
    return;
  }
  using Pair = std::conditional_t<bytes_of(kType) == 1, unsigned short, unsigned>;
  if constexpr (kType == Type::f32) {
    static_cast<float2*>(params.tensors[tensor])[first / 2] = make_float2(x, y);
  } else {
    static_cast<Pair*>(params.tensors[tensor])[first / 2] =
        static_cast<Pair>(pair_bits(kType, x, y));
  }
}
template <class Core>
__device__ inline void add_to_memory(const Core& core, const Params& params, long to, int from,
                                     int bytes) {
  if (!core.elected() || bytes == 0) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                   reinterpret_cast<char*>(params.sums) + to),
               "r"(core.scratchpad + from), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <class Core>
__device__ inline bool last_adder(const Core& core, const Params& params, int counter, int adders) {
  const unsigned flag = core.scratchpad + core.barriers - 16;
  if (core.elected()) {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __threadfence();
    const unsigned before = atomicAdd(params.counters + counter, 1U);
    const bool last = before == static_cast<unsigned>(adders) - 1;
    if (last) params.counters[counter] = 0;
    __threadfence();
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(flag), "r"(static_cast<unsigned>(last))
                 : "memory");
  }
  group_sync(core);
  unsigned last;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(last) : "r"(flag) : "memory");
  group_sync(core);
  return last != 0;
}
__device__ inline void take_sums(const Params& params, long at, float& x, float& y) {
  float2* sums = reinterpret_cast<float2*>(reinterpret_cast<char*>(params.sums) + at);
  const float2 both = __ldcg(sums);
  x = both.x;
  y = both.y;
  __stcg(sums, make_float2(0, 0));
}

}  // namespace ff
