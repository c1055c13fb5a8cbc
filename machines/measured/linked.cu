// A chain E = relu(A B) D as one kernel of clusters, with links and without: what sharing C over
// links gains on a GPU. The scheme is that of the plans `cls 1xPx1xP`: a cluster has a tile of rows
// and P blocks of columns of C, one a core; each core sends its C tile to its peers, multiplies all
// of them with its share of the columns of D, and adds what comes out to E in memory. P = 1 is the
// plan of single cores; clusters of those that share B and D (`cls Rx1x1x1`) send nothing.
//
// Rows: microseconds of a kernel in a captured graph, cold operands, the fastest tile of those
// tried for each P. E is zero before; clearing it is not in the time. Each kernel is compared with
// a product in f32 first.
#include <cuda.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "measure.h"

namespace {

constexpr const char* kGroup = "linked";
constexpr int kDepth = 128;  // of a step of the first product
constexpr int kStages = 4;   // steps whose operands may be on their way, and one more
constexpr long long kColdBytes = 256ll << 20;  // operands of all sets: several times the L2
constexpr int kMostScratchpad = 226 * 1024;
constexpr int kCheckedLaunches = 10;
constexpr double kMostError = 1e-4;  // C is rounded to f16 in the kernel and in the reference
constexpr int kMostBox = 256;        // rows that the copy engine loads at once

// Shape of a chain; k is a multiple of kDepth (operands are padded with zeros).
struct Chain {
  const char* name;
  int m, n, k, l;
};

// The same names as in fuseflow-cluster --workload; C3 and C4 are convolutions, 1 x 1.
constexpr Chain kChains[] = {
    {"G2", 128, 256, 512, 64},     {"G7", 128, 768, 768, 768},    {"G10", 128, 1536, 384, 384},
    {"G9", 128, 2048, 512, 512},   {"G6", 128, 4096, 1024, 1024}, {"G4", 128, 3072, 768, 768},
    {"G8", 128, 8192, 2048, 2048}, {"C3", 256, 1024, 256, 256},   {"C4", 64, 2048, 512, 512},
};

struct Operands {
  half* a;   // m x k
  half* b;   // k x n
  half* d;   // n x l
  float* e;  // m x l
};

// --- The scratchpad: matrices of f16 in panels of up to 64 columns. Chunks of 16 bytes are
// permuted by row, so that the eight rows that a matrix load reads at once lie in different banks;
// the copy engine does the same (swizzles of 128 and of 64 bytes).

constexpr int kPanel = 64;  // columns

template <int ROWS, int COLUMNS>
__device__ inline unsigned chunk_offset(int row, int chunk) {
  constexpr int kChunks = COLUMNS < kPanel ? COLUMNS / 8 : kPanel / 8;  // of a row of a panel
  static_assert(kChunks == 8 || kChunks == 4);
  const int turn = kChunks == 8 ? row & 7 : row / 2 & 3;
  const int panel = chunk / kChunks * ROWS * kChunks;
  return static_cast<unsigned>((panel + row * kChunks + (chunk % kChunks ^ turn)) * 16);
}

// A ROWS x COLUMNS tile of a matrix in memory, its first element at (row, column), a panel each.
template <int ROWS, int COLUMNS>
__device__ inline void copy_tile(unsigned to, const CUtensorMap* matrix, int row, int column,
                                 unsigned barrier) {
  constexpr int kColumns = COLUMNS < kPanel ? COLUMNS : kPanel;
#pragma unroll
  for (int panel = 0; panel < COLUMNS / kColumns; ++panel) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, "
        "%3}], [%4];" ::"r"(to + panel * ROWS * kColumns * 2),
        "l"(matrix), "r"(column + panel * kColumns), "r"(row), "r"(barrier)
        : "memory");
  }
}

__device__ inline void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The part of a tile of ROWS x COLUMNS that a warp sums: WARPS warps side by side and one over the
// other, 16 rows each.
template <int ROWS, int COLUMNS, int WARPS>
struct WarpTile {
  static constexpr int kDown = ROWS / 16 < WARPS ? ROWS / 16 : WARPS;
  static constexpr int kAcross = WARPS / kDown;
  static constexpr int kRows = ROWS / kDown / 16;          // blocks of 16
  static constexpr int kColumns = COLUMNS / kAcross / 16;  // blocks of 16
  static_assert(kDown * kAcross == WARPS && kColumns * kAcross * 16 == COLUMNS);

  float sums[kRows][kColumns * 2][4] = {};

  __device__ static int row() { return static_cast<int>(threadIdx.x / 32) % kDown * kRows * 16; }
  __device__ static int column() {
    return static_cast<int>(threadIdx.x / 32) / kDown * kColumns * 16;
  }

  // Adds left[ROWS x DEPTH] right[DEPTH x COLUMNS], both in the scratchpad. What the next 16 of
  // DEPTH need is loaded while these are multiplied.
  template <int DEPTH>
  __device__ void add(unsigned left, unsigned right) {
    const int lane = threadIdx.x % 32;
    unsigned a[2][kRows][4];
    unsigned b[2][kColumns][4];
    const auto load = [&](int k) {
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        load_matrices(a[k / 16 % 2][i], left + chunk_offset<ROWS, DEPTH>(row() + i * 16 + lane % 16,
                                                                         k / 8 + lane / 16));
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        load_transposed(
            b[k / 16 % 2][j],
            right + chunk_offset<DEPTH, COLUMNS>(k + lane % 16, column() / 8 + j * 2 + lane / 16));
    };
    load(0);
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
      if (k + 16 < DEPTH) load(k + 16);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const unsigned(&pair)[4] = b[k / 16 % 2][j];
          multiply(sums[i][j * 2], a[k / 16 % 2][i], pair[0], pair[1]);
          multiply(sums[i][j * 2 + 1], a[k / 16 % 2][i], pair[2], pair[3]);
        }
      }
    }
  }

  // Calls give(row, column, two elements side by side) for all that the thread has.
  template <typename Give>
  __device__ void for_each_pair(const Give& give) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns * 2; ++j) {
        const int r = row() + i * 16 + lane / 4;
        const int c = column() + j * 8 + lane % 4 * 2;
        give(r, c, sums[i][j][0], sums[i][j][1]);
        give(r + 8, c, sums[i][j][2], sums[i][j][3]);
      }
    }
  }
};

// --- Clusters

__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline void copy_to_core(unsigned to, unsigned from, unsigned core) {
  unsigned there = 0;
  unsigned w[4];
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "r"(from)
               : "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(to), "r"(core));
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(there), "r"(w[0]), "r"(w[1]),
               "r"(w[2]), "r"(w[3])
               : "memory");
}

// --- The kernel

// Bytes of the scratchpad: the ring of operands and C of the whole cluster.
template <int BM, int BN, int CORES, int BL>
struct Room {
  static constexpr int kFirst = (BM + BN) * kDepth * 2;
  static constexpr int kSecond = BN * CORES * BL * 2;
  static constexpr int kStage = kFirst > kSecond ? kFirst : kSecond;
  static constexpr int kHeld = BM * BN * CORES * 2;
  static constexpr int kBytes = kStages * kStage + kHeld + 1024;
};

// Where the copy engine finds the operands: boxes of kDepth x BM, BN x kDepth and kPanel x CORES
// BN.
struct Maps {
  CUtensorMap a, b, d;
};

// When a block begins, has its first operands, its tile of C, all of its cluster's C, and has asked
// for its last sum: cycles of its core; the first and the last in nanoseconds, too.
enum Moment { kBegin, kFirst, kProduct, kExchanged, kEnd, kBeginTime, kEndTime, kMoments };

template <int BM, int BN, int CORES, int BL, int WARPS>
__global__ void __launch_bounds__(WARPS * 32)
    chain(Chain shape, const __grid_constant__ Maps maps, float* result, long long* moments) {
#if __CUDA_ARCH__ >= 900
  using R = Room<BM, BN, CORES, BL>;
  constexpr int kThreads = WARPS * 32;
  constexpr int kWide = BN * CORES;  // columns of C that the cluster has
  extern __shared__ char scratchpad[];
  __shared__ alignas(8) unsigned long long full[kStages];
  const unsigned ring = (shared_address(scratchpad) + 1023) / 1024 * 1024;  // as swizzles want it
  const unsigned held = ring + kStages * R::kStage;
  const int core = static_cast<int>(blockIdx.x) % CORES;
  const int tiles = shape.m / BM;
  const int m = static_cast<int>(blockIdx.x) / CORES % tiles * BM;
  const int n = static_cast<int>(blockIdx.x) / CORES / tiles * kWide;
  const int share = shape.l / CORES;  // columns of E of this core
  const int first_steps = shape.k / kDepth;
  const int steps = first_steps + share / BL;
  const auto mark = [&](Moment moment, Moment time = kMoments) {
    if (moments == nullptr || threadIdx.x != 0) return;
    moments[blockIdx.x * kMoments + moment] = clock64();
    if (time != kMoments) moments[blockIdx.x * kMoments + time] = globaltimer();
  };
  mark(kBegin, kBeginTime);

  // Operands of a step: of A B, then of C D. They may run ahead from one product into the next.
  const auto load = [&](int step) {
    const unsigned to = ring + step % kStages * R::kStage;
    const unsigned barrier = shared_address(&full[step % kStages]);
    const int bytes = step < first_steps ? R::kFirst : R::kSecond;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    if (step < first_steps) {
      copy_tile<BM, kDepth>(to, &maps.a, m, step * kDepth, barrier);
      copy_tile<kDepth, BN>(to + BM * kDepth * 2, &maps.b, step * kDepth, n + core * BN, barrier);
    } else {
      copy_tile<kWide, BL>(to, &maps.d, n, core * share + (step - first_steps) * BL, barrier);
    }
  };
  const auto wait = [&](int step) {
    wait_for(shared_address(&full[step % kStages]), step / kStages & 1);
    return ring + step % kStages * R::kStage;
  };
  // All have read the operands of a step. Without the fence the copy engine, whose accesses are
  // not ordered with those of threads, may write before they have: seen (README.md, "Linked
  // cores").
  const auto release = [&](int step) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0 && step + kStages < steps) load(step + kStages);
  };

  if (CORES > 1) cluster_arrive();  // peers that have begun can be written to
  if (threadIdx.x == 0) {
    for (unsigned long long& barrier : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int step = 0; step < kStages && step < steps; ++step) load(step);
  }
  __syncthreads();
  {
    WarpTile<BM, BN, WARPS> c;
    for (int step = 0; step < first_steps; ++step) {
      const unsigned operands = wait(step);
      if (step == 0) mark(kFirst);
      c.template add<kDepth>(operands, operands + BM * kDepth * 2);
      release(step);
    }
    c.for_each_pair([&](int row, int column, float left, float right) {
      const half2 pair = __floats2half2_rn(fmaxf(left, 0.0f), fmaxf(right, 0.0f));
      const int whole = core * BN + column;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(held + chunk_offset<BM, kWide>(row, whole / 8) +
                                                   whole % 8 * 2),
                   "r"(*reinterpret_cast<const unsigned*>(&pair))
                   : "memory");
    });
  }
  __syncthreads();
  mark(kProduct);
  if (CORES > 1) {
    cluster_wait();
    constexpr int kChunks = BN / 8;
    for (int peer = 1; peer < CORES; ++peer) {
      for (int i = threadIdx.x; i < BM * kChunks; i += kThreads) {
        const unsigned chunk =
            held + chunk_offset<BM, kWide>(i / kChunks, core * kChunks + i % kChunks);
        copy_to_core(chunk, chunk, static_cast<unsigned>((core + peer) % CORES));
      }
    }
    cluster_arrive();
    cluster_wait();
  }
  mark(kExchanged);

  for (int step = first_steps; step < steps; ++step) {
    WarpTile<BM, BL, WARPS> e;
    const unsigned operands = wait(step);
    e.template add<kWide>(held, operands);
    release(step);
    float* to =
        result + static_cast<long long>(m) * shape.l + core * share + (step - first_steps) * BL;
    e.for_each_pair([&](int row, int column, float left, float right) {
      atomicAdd(reinterpret_cast<float2*>(to + static_cast<long long>(row) * shape.l + column),
                make_float2(left, right));
    });
  }
  mark(kEnd, kEndTime);
#endif
}

// --- Operands and the reference

__global__ void fill(half* values, long long count, unsigned seed) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    values[i] = __float2half((static_cast<float>(x ^ (x >> 16)) / 4294967296.0f - 0.5f) * 0.3f);
  }
}

template <typename Result>
__global__ void reference_product(const half* a, const half* b, Result* c, int m, int n, int k,
                                  bool relu) {
  const int column = blockIdx.x * 256 + threadIdx.x;
  const int row = blockIdx.y;
  if (column >= n || row >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(a[static_cast<long long>(row) * k + i]) *
           __half2float(b[static_cast<long long>(i) * n + column]);
  c[static_cast<long long>(row) * n + column] = static_cast<Result>(relu ? fmaxf(sum, 0.0f) : sum);
}

// Rows x columns at `matrix`, loaded in boxes whose rows are swizzled as chunk_offset says.
CUtensorMap matrix_map(half* matrix, int rows, int columns, int box_rows, int box_columns) {
  static const auto kEncode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                           cudaEnableDefault, &found));
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  CUtensorMap map{};
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns),
                            static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t every[] = {1, 1};
  const CUresult made =
      kEncode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, extents, strides, box, every,
              CU_TENSOR_MAP_INTERLEAVE_NONE,
              box_columns == kPanel ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (made != CUDA_SUCCESS) {
    std::fprintf(stderr, "linked: no map of %d x %d in boxes of %d x %d: error %d\n", rows, columns,
                 box_rows, box_columns, made);
    std::exit(1);
  }
  return map;
}

template <typename Number>
Number* allocate(long long count) {
  Number* values = nullptr;
  CHECK(cudaMalloc(&values, count * sizeof(Number)));
  return values;
}

// As many sets of operands as take kColdBytes together.
class Sets {
 public:
  explicit Sets(const Chain& chain) : results_(1ll * chain.m * chain.l) {
    const long long sizes[] = {1ll * chain.m * chain.k, 1ll * chain.k * chain.n,
                               1ll * chain.n * chain.l};
    const long long bytes = (sizes[0] + sizes[1] + sizes[2]) * 2 + results_ * 4;
    const long long count = std::max(2ll, std::min(512ll, kColdBytes / bytes + 1));
    for (long long set = 0; set < count; ++set) {
      half* parts[3];
      for (int part = 0; part < 3; ++part) {
        parts[part] = allocate<half>(sizes[part]);
        fill<<<256, 256>>>(parts[part], sizes[part], static_cast<unsigned>(set * 4 + part));
      }
      sets_.push_back({parts[0], parts[1], parts[2], allocate<float>(results_)});
    }
    half* c = allocate<half>(1ll * chain.m * chain.n);
    float* e = allocate<float>(results_);
    reference_product<<<dim3((chain.n + 255) / 256, chain.m), 256>>>(
        sets_[0].a, sets_[0].b, c, chain.m, chain.n, chain.k, true);
    reference_product<<<dim3((chain.l + 255) / 256, chain.m), 256>>>(c, sets_[0].d, e, chain.m,
                                                                     chain.l, chain.n, false);
    finish();
    expected_.resize(results_);
    CHECK(cudaMemcpy(expected_.data(), e, results_ * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(c));
    CHECK(cudaFree(e));
  }
  ~Sets() {
    for (const Operands& set : sets_) {
      for (half* part : {set.a, set.b, set.d}) cudaFree(part);
      cudaFree(set.e);
    }
  }
  Sets(const Sets&) = delete;
  Sets& operator=(const Sets&) = delete;

  int count() const { return static_cast<int>(sets_.size()); }
  const Operands& operator[](int set) const { return sets_[set]; }

  void clear(int set) const { CHECK(cudaMemset(sets_[set].e, 0, results_ * 4)); }

  // Of E of the first set, relative to the norm of what is expected.
  double error() const {
    std::vector<float> found(results_);
    CHECK(cudaMemcpy(found.data(), sets_[0].e, results_ * 4, cudaMemcpyDeviceToHost));
    double difference = 0, norm = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const double wrong = static_cast<double>(found[i]) - expected_[i];
      difference += wrong * wrong;
      norm += static_cast<double>(expected_[i]) * expected_[i];
    }
    return std::sqrt(difference / norm);
  }

 private:
  long long results_;
  std::vector<Operands> sets_;
  std::vector<float> expected_;
};

// --- What is tried

struct Best {
  double seconds;
  std::string tile;
  std::array<double, kEnd> phases;  // cycles between moments, the middle of all blocks
  double nanoseconds;               // from the first block's begin to the last one's end
};

// Of a launch of so many blocks that wrote their moments.
void read_moments(const Cycles& written, int blocks, Best* best) {
  const std::vector<long long> at = written.read();
  long long begin = at[kBeginTime], end = 0;
  for (int phase = 0; phase < kEnd; ++phase) {
    std::vector<double> cycles;
    for (int block = 0; block < blocks; ++block) {
      const long long* of = &at[block * kMoments];
      cycles.push_back(static_cast<double>(of[phase + 1] - of[phase]));
      begin = std::min(begin, of[kBeginTime]);
      end = std::max(end, of[kEndTime]);
    }
    best->phases[phase] = median(cycles);
  }
  best->nanoseconds = static_cast<double>(end - begin);
}

// Times a tile on clusters of `together` cores (CORES of them share C; more share B and D alone).
template <int BM, int BN, int CORES, int BL, int WARPS>
void try_tile(const Chain& shape, const Sets& sets, int together, std::optional<Best>* best) {
  constexpr int kBytes = Room<BM, BN, CORES, BL>::kBytes;
  if constexpr (kBytes <= kMostScratchpad) {
    if (shape.m % BM != 0 || shape.n % (BN * CORES) != 0 || shape.l % (CORES * BL) != 0) return;
    const int tiles = shape.m / BM;
    if (together > CORES && tiles % (together / CORES) != 0) return;
    const int blocks = tiles * (shape.n / (BN * CORES)) * CORES;
    if (blocks > 4 * device().multiProcessorCount || blocks < 16) return;
    const auto kernel = chain<BM, BN, CORES, BL, WARPS>;
    ClusterLaunch grid(kernel, blocks, WARPS * 32, kBytes, together);
    std::vector<Maps> maps;
    for (int set = 0; set < sets.count(); ++set) {
      const Operands& of = sets[set];
      maps.push_back({matrix_map(of.a, shape.m, shape.k, BM, kPanel),
                      matrix_map(of.b, shape.k, shape.n, kDepth, std::min(BN, kPanel)),
                      matrix_map(of.d, shape.n, shape.l, BN * CORES, kPanel)});
    }
    const auto start = [&](int set, long long* moments) {
      CHECK(cudaLaunchKernelEx(&grid.config, kernel, shape, maps[set], sets[set].e, moments));
    };
    const std::string tile = std::to_string(BM) + "x" + std::to_string(BN) + " columns " +
                             std::to_string(BL) + " warps " + std::to_string(WARPS) + " cluster " +
                             std::to_string(together);
    for (int launch = 0; launch < kCheckedLaunches; ++launch) {  // races do not show each time
      sets.clear(0);
      start(0, nullptr);
      finish();
      const double error = sets.error();
      if (error < kMostError) continue;
      std::fprintf(stderr, "linked: %s %s: relative error %g\n", shape.name, tile.c_str(), error);
      std::exit(1);
    }
    for (int set = 0; set < sets.count(); ++set) sets.clear(set);
    const double seconds = seconds_of_graph(2 * sets.count(), [&](int call, cudaStream_t stream) {
      grid.config.stream = stream;
      start(call % sets.count(), nullptr);
    });
    if (*best && seconds >= (*best)->seconds) return;
    *best = Best{seconds, tile, {}, 0};
    const Cycles moments(blocks * kMoments);
    grid.config.stream = nullptr;
    start(sets.count() / 2, moments.on_device);
    finish();
    read_moments(moments, blocks, &**best);
  }
}

template <int BM, int BN, int CORES>
void try_tiles(const Chain& shape, const Sets& sets, int together, std::optional<Best>* best) {
  if constexpr (BN * CORES <= kMostBox) {
    if constexpr (BM <= 64) {
      try_tile<BM, BN, CORES, 64, 4>(shape, sets, together, best);
      try_tile<BM, BN, CORES, 128, 4>(shape, sets, together, best);
    }
    if constexpr (BM * BN >= 64 * 32) {
      try_tile<BM, BN, CORES, 64, 8>(shape, sets, together, best);
      try_tile<BM, BN, CORES, 128, 8>(shape, sets, together, best);
    }
  }
}

template <int CORES>
void measure(const Chain& shape, const Sets& sets, int together, const char* what) {
  std::optional<Best> best;
  try_tiles<32, 32, CORES>(shape, sets, together, &best);
  try_tiles<32, 64, CORES>(shape, sets, together, &best);
  try_tiles<64, 32, CORES>(shape, sets, together, &best);
  try_tiles<64, 64, CORES>(shape, sets, together, &best);
  try_tiles<128, 32, CORES>(shape, sets, together, &best);
  try_tiles<128, 64, CORES>(shape, sets, together, &best);
  if (!best) return;
  const std::string extents = std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                              std::to_string(shape.k) + "x" + std::to_string(shape.l);
  const std::string chain = std::string(shape.name) + " " + extents;
  row(kGroup, what, chain + " tile " + best->tile, best->seconds * 1e6, "us");
  constexpr const char* kPhases[] = {"first operands", "first product", "exchange",
                                     "second product"};
  const std::string phase = std::string(what) + "_phase";
  for (int at = 0; at < kEnd; ++at)
    row(kGroup, phase.c_str(), chain + " " + kPhases[at], best->phases[at], "cycles");
  row(kGroup, phase.c_str(), chain + " first begin to last end", best->nanoseconds, "ns");
}

}  // namespace

int main() {
  for (const Chain& shape : kChains) {
    const Sets sets(shape);
    measure<1>(shape, sets, 1, "chain_single_cores");
    measure<1>(shape, sets, 2, "chain_shared_weights");
    measure<2>(shape, sets, 2, "chain_linked_2");
    measure<4>(shape, sets, 4, "chain_linked_4");
    measure<8>(shape, sets, 8, "chain_linked_8");
  }
  return 0;
}
