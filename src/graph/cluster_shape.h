// The four dimensions of a dense chain, and the shape of a cluster of blocks with the communication
// that follows from it: who exchanges what inside a cluster, and how much. Elements only; bytes and
// bandwidths come in elsewhere. Meaning: ir-spec/cluster.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fuseflow {

/// The four loop dimensions of C[M,N] = A[M,K] B[K,N]; E[M,L] = act(C)[M,N] D[N,L].
enum class Dim : uint8_t { m, n, k, l };
inline constexpr int kDims = 4;
inline constexpr std::array kAllDims{Dim::m, Dim::n, Dim::k, Dim::l};
inline constexpr int index_of(Dim dim) {
  return static_cast<int>(dim);
}
char letter_of(Dim dim);

/// One number a dimension, in the order M, N, K, L.
struct Extents {
  std::array<int64_t, kDims> value{1, 1, 1, 1};
  int64_t& operator[](Dim dim) { return value[static_cast<size_t>(dim)]; }
  int64_t operator[](Dim dim) const { return value[static_cast<size_t>(dim)]; }
  bool operator==(const Extents&) const = default;
};

/// How a gated chain shares its two branches.
enum class GatedWay : uint8_t {
  none,        ///< the chain is not gated
  split,       ///< one branch on each of two blocks (cls_k = 2), multiplied over the links
  sequential,  ///< both branches one after the other in every block
};
std::string_view name_of(GatedWay way);

inline constexpr int kLargestCluster = 16;

/// Blocks a cluster along each dimension. The first product uses m*n*k blocks; the second the same
/// blocks as m * l * cls_reduce.
struct ClusterShape {
  int m = 1, n = 1, k = 1, l = 1;

  int cores() const { return m * n * k; }
  int64_t along(Dim dim) const {
    return dim == Dim::m ? m : dim == Dim::n ? n : dim == Dim::k ? k : l;
  }
  /// Blocks that pass C slices round in the second product: cls_l / cls_k.
  int shuffle() const { return l / k; }
  /// Shuffle groups whose partial E are summed: cls_n / cls_shuffle = cls_n cls_k / cls_l.
  int reduce() const { return n * k / l; }
  /// Whether shuffle() and reduce() are whole and at least one.
  bool regular() const { return l % k == 0 && (n * k) % l == 0; }
  bool operator==(const ClusterShape&) const = default;
};

/// Elements that one block sends over the links.
struct Communication {
  int64_t exchange_partial = 0;  ///< partial sums to the block that adds them
  int64_t exchange_gather = 0;   ///< finished slices to everyone
  int64_t shuffle = 0;           ///< one pass of the second product over one C slice a block
  int64_t reduce_scatter = 0;    ///< one stored E block
};

/// The two halves of the exchange 2 (k-1)/k |C|, shuffle (shuffle-1) |C|, reduce_scatter
/// (reduce-1)/reduce |E| for blocks of `c_block` and `e_block` elements (multiples of 256, so that
/// the shares are whole). A sequential gated chain sums two branches before it multiplies, so its
/// first half doubles.
Communication communicate(const ClusterShape& shape, GatedWay way, int64_t c_block,
                          int64_t e_block);

inline constexpr int64_t kReceiveSlots = 2;  ///< one arrives while the last is passed on
/// Slots for slices of C that go round a group. Of two cores none is passed on: one slot.
int64_t slice_slots(const ClusterShape& shape);
/// Bytes of scratchpad for what a block gets of others: partial sums of C and of E in f32, and
/// slices of C, which take turns in the slots (`for_slices`: how many these have of them); slices
/// that stay have room for themselves.
int64_t receive_room(const ClusterShape& shape, int64_t c_block, int64_t e_block,
                     int64_t element_bytes, bool slices_stay, int64_t for_slices);

}  // namespace fuseflow
