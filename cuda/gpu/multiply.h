// Products of matrices in the scratchpad. Of 64 rows and more: wgmma, each group of 128 threads a
// part of the rows, or of the columns where there are too few rows. Of other rows: mma m16n8k16
// (m16n8k32 of elements of a byte, m16n8k8 of f32 as tf32), each warp a part of the columns.
// ff::wgmma<columns, left by columns, right by rows, types of left and right> is in instructions.h,
// which is generated.
#pragma once

namespace ff {

template <int kColumns, int kLeftByColumns, int kRightByRows, Type kLeft, Type kRight>
__device__ void wgmma(float (&sums)[kColumns / 2], uint64_t left, uint64_t right);

__device__ inline constexpr int common(int a, int b) {
  return b == 0 ? a : common(b, a % b);
}

/// f32 sums of kRows x kColumns, over the threads that multiply.
template <class Core, int kRows_, int kColumns_>
struct Sums {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr bool kWide = kRows % 64 == 0;
  // wgmma: groups along rows, then along columns.
  static constexpr int kRowGroups = kWide ? common(kRows / 64, Core::kGroups) : 1;
  static constexpr int kColumnGroups = Core::kGroups / kRowGroups;
  static constexpr int kRowBlocks = kWide ? kRows / 64 / kRowGroups : kRows / 16;
  static constexpr int kGroupColumns = kColumns / kColumnGroups;
  static_assert(!kWide || (kColumns % kColumnGroups == 0 && kGroupColumns % 16 == 0));
  // mma: blocks of 16 columns over warps.
  static constexpr int kWarpBlocks = (kColumns / 16 + Core::kWarps - 1) / Core::kWarps;
  static constexpr int kWidth = kWide ? kGroupColumns : kWarpBlocks * 16;
  float at[kRowBlocks][kWidth / 2];

  __device__ void clear() {
#pragma unroll
    for (auto& block : at) {
#pragma unroll
      for (float& x : block) x = 0;
    }
  }
  __device__ static int first_row() {
    return kWide ? static_cast<int>(threadIdx.x) / 128 / kColumnGroups * kRowBlocks * 64 : 0;
  }
  __device__ static int first_column() {
    return kWide ? static_cast<int>(threadIdx.x) / 128 % kColumnGroups * kGroupColumns
                 : static_cast<int>(threadIdx.x) / 32 * kWidth;
  }
  /// visit(row, column, number in `at`, block) for pairs of elements of consecutive columns.
  template <class Visit>
  __device__ void places(Visit visit) {
    const int thread = threadIdx.x % 128, warp = kWide ? thread / 32 : 0;
    const int row = first_row() + warp * 16 + thread % 32 / 4,
              column = first_column() + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < kRowBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kWidth / 8; ++j) {
        if (!kWide && first_column() + j * 8 >= kColumns) continue;
#pragma unroll
        for (int h = 0; h < 2; ++h)
          visit(row + i * (kWide ? 64 : 16) + h * 8, column + j * 8, i, j * 4 + h * 2);
      }
    }
  }
  template <class Visit>
  __device__ void pairs(const Core&, Visit visit) {
    places([&](int row, int column, int i, int n) { visit(row, column, at[i][n], at[i][n + 1]); });
  }
  template <class Visit>
  __device__ void pairs(const Core&, Sums& other, Visit visit) {
    places([&](int row, int column, int i, int n) {
      visit(row, column, at[i][n], at[i][n + 1], other.at[i][n], other.at[i][n + 1]);
    });
  }
};

/// wgmma's description of a matrix of which M's part begins at an address. The dimension that a
/// product sums is the inner one, or the outer one.
template <class M, bool kSumsInner>
__device__ inline uint64_t describe(unsigned address) {
  constexpr bool kSwizzled = M::kPitch > 16;
  constexpr uint64_t kLayout = M::kPitch == 128 ? 1 : M::kPitch == 64 ? 2 : M::kPitch == 32 ? 3 : 0;
  // Bytes between 8 outer coordinates, and between panels.
  constexpr uint64_t kEight = 8 * M::kPitch, kPanels = M::kPanelBytes;
  constexpr uint64_t kLeading = !kSwizzled   ? (kSumsInner ? kPanels : kEight)
                                : kSumsInner ? 16
                                             : kPanels;
  constexpr uint64_t kStride = !kSwizzled && !kSumsInner ? kPanels : kEight;
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | (kLeading >> 4 & 0x3fff) << 16 |
         (kStride >> 4 & 0x3fff) << 32 | kLayout << 62;
}
/// The byte of M at which a part begins, at coordinates that are multiples of 32 bytes in the
/// dimension that is summed and of 8 (outer) or a panel (inner) in the other.
template <class M>
__device__ inline constexpr int part_at(int outer, int inner) {
  return inner / M::kPanel * M::kPanelBytes + outer * M::kPitch + inner % M::kPanel * M::kSize;
}

/// The widest of the products of `columns` columns that begin at multiples of it: a power of two,
/// or all.
__device__ inline constexpr int widest(int columns) {
  return columns >= 256 ? 256 : columns >= 128 ? 128 : columns >= 64 ? 64 : columns >= 32 ? 32 : 16;
}

template <class A, class B, int kColumns, int kFrom, class S>
__device__ inline void wgmma_columns(float (&sums)[kColumns / 2], unsigned left, unsigned right,
                                     int row, int column, int depth) {
  if constexpr (kFrom < kColumns) {
    constexpr int kWide = widest(kColumns - kFrom);
    float(&part)[kWide / 2] = *reinterpret_cast<float(*)[kWide / 2]>(&sums[kFrom / 2]);
    const unsigned a = left + (A::kByRows ? part_at<A>(row, depth) : part_at<A>(depth, row));
    const unsigned b = right + (B::kByRows ? part_at<B>(depth, column + kFrom)
                                           : part_at<B>(column + kFrom, depth));
    wgmma<kWide, !A::kByRows, B::kByRows, A::kElement, B::kElement>(
        part, describe<A, A::kByRows>(a), describe<B, !B::kByRows>(b));
    wgmma_columns<A, B, kColumns, kFrom + kWide, S>(sums, left, right, row, column, depth);
  }
}

/// The address that a lane gives ldmatrix for 16 x 32 bytes from (outer, inner) on. kTurned:
/// matrices 1 and 2 of the four are in the other order.
template <class M, bool kTurned>
__device__ inline unsigned block_address(unsigned at, int outer, int inner) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  const int down = kTurned ? matrix / 2 : matrix % 2, right = kTurned ? matrix % 2 : matrix / 2;
  return at + M::chunk_at(outer + down * 8 + lane % 8, inner / M::kChunk + right);
}
template <bool kTransposed>
__device__ inline void load_block(unsigned (&block)[4], unsigned address) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(block[0]), "=r"(block[1]), "=r"(block[2]), "=r"(block[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(block[0]), "=r"(block[1]), "=r"(block[2]), "=r"(block[3])
                 : "r"(address)
                 : "memory");
  }
}
#define FF_MMA(shape, left, right)                                                    \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." left "." right               \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
template <Type kLeft, Type kRight>
__device__ inline void mma(float* sums, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (kLeft == Type::f32) {
    FF_MMA("m16n8k8", "tf32", "tf32");
  } else if constexpr (kLeft == Type::bf16) {
    FF_MMA("m16n8k16", "bf16", "bf16");
  } else if constexpr (kLeft == Type::f16) {
    FF_MMA("m16n8k16", "f16", "f16");
  } else if constexpr (kLeft == Type::f8e4m3 && kRight == Type::f8e4m3) {
    FF_MMA("m16n8k32", "e4m3", "e4m3");
  } else if constexpr (kLeft == Type::f8e4m3) {
    FF_MMA("m16n8k32", "e4m3", "e5m2");
  } else if constexpr (kRight == Type::f8e4m3) {
    FF_MMA("m16n8k32", "e5m2", "e4m3");
  } else {
    FF_MMA("m16n8k32", "e5m2", "e5m2");
  }
}
#undef FF_MMA

/// sums += left * right; the matrices may be overwritten after multiply_wait.
template <class A, class B, class Core, class S>
__device__ inline void multiply(const Core& core, S& sums, int left, int right) {
  static_assert(A::kColumns == B::kRows && A::kRows == S::kRows && B::kColumns == S::kColumns);
  static_assert(has_instruction<A, B>());
  constexpr int kDepth = depth_of<A>();
  const unsigned a_at = core.scratchpad + left, b_at = core.scratchpad + right;
  if constexpr (S::kWide) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < S::kRowBlocks; ++i) {
#pragma unroll
      for (int k = 0; k < A::kColumns; k += kDepth) {
        wgmma_columns<A, B, S::kWidth, 0, S>(sums.at[i], a_at, b_at, S::first_row() + i * 64,
                                             S::first_column(), k);
      }
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  } else {
#pragma unroll 2
    for (int k = 0; k < A::kColumns; k += kDepth) {
#pragma unroll
      for (int j = 0; j < S::kWarpBlocks; ++j) {
        const int column = S::first_column() + j * 16;
        if (column >= S::kColumns) continue;
        unsigned b[4];
        load_block<B::kByRows>(b, B::kByRows ? block_address<B, false>(b_at, k, column)
                                             : block_address<B, true>(b_at, column, k));
#pragma unroll
        for (int i = 0; i < S::kRowBlocks; ++i) {
          unsigned a[4];
          load_block<!A::kByRows>(a, A::kByRows ? block_address<A, false>(a_at, i * 16, k)
                                                : block_address<A, true>(a_at, k, i * 16));
          mma<A::kElement, B::kElement>(&sums.at[i][j * 8], a, b[0], b[1]);
          mma<A::kElement, B::kElement>(&sums.at[i][j * 8 + 4], a, b[2], b[3]);
        }
      }
    }
  }
}
template <class Core, class S>
__device__ inline void multiply_wait(const Core&, S& sums) {
  if constexpr (S::kWide) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (auto& block : sums.at) {
#pragma unroll
      for (float& x : block) asm volatile("" : "+f"(x)::"memory");
    }
  }
}

}  // namespace ff
