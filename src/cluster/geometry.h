// The shape of a cluster of blocks and the communication that follows from it: who exchanges what
// inside a cluster, and how much. Bytes and bandwidths come in elsewhere; these are elements.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/chain.h"

namespace fuseflow::cluster {

inline constexpr int64_t kLargestCluster = 16;

/// How a gated chain shares its two branches (see ir-spec/cluster.md).
enum class GatedWay : uint8_t {
  none,        ///< the chain is not gated
  split,       ///< one branch on each of two blocks (cls_k = 2), multiplied over the links
  sequential,  ///< both branches one after the other in every block
};
std::string_view name_of(GatedWay way);

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
  /// Both quotients are whole and at least one.
  bool regular() const { return l % k == 0 && (n * k) % l == 0; }
  bool operator==(const ClusterShape&) const = default;
};

/// Every shape of {1,2,4,8,16}^4 in ascending order of (m, n, k, l): 625.
std::vector<ClusterShape> all_cluster_shapes();

/// Pruning rule 2: the blocks of either product fit a cluster (m n k <= 16), the two products agree
/// (l >= k, so that a shuffle group has at least one block), and there is something to link
/// (m n k > 1).
bool shape_allowed(const ClusterShape& shape);

/// Elements that one block sends over the links.
struct Communication {
  int64_t exchange_partial = 0;  ///< all_exchange, first half: partial sums to the block that adds
  int64_t exchange_gather = 0;   ///< all_exchange, second half: finished slices to everyone
  int64_t shuffle = 0;           ///< one pass of the second product over one C slice a block
  int64_t reduce_scatter = 0;    ///< one stored E block
  int64_t all_exchange() const { return exchange_partial + exchange_gather; }
};

/// all_exchange 2 (k-1)/k |C|, shuffle (shuffle-1) |C|, reduce_scatter (reduce-1)/reduce |E| for
/// blocks of `c_block` and `e_block` elements (multiples of 256, so that the shares are whole). A
/// sequential gated chain sums two branches before it multiplies, so its first half doubles.
Communication communicate(const ClusterShape& shape, GatedWay way, int64_t c_block,
                          int64_t e_block);

/// Adds that E receives in global memory for each of its elements: the number of clusters that
/// share the same (M, L) range. One is a plain store.
int64_t inter_cluster_reduce(int64_t clusters_along_n, int64_t clusters_along_k);

/// The reduction step of the second product in the published examples: blk_n / cls_reduce.
int64_t second_step(const ClusterShape& shape, int64_t blk_n);

}  // namespace fuseflow::cluster
