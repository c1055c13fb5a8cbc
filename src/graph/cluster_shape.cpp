#include "graph/cluster_shape.h"

#include <algorithm>

namespace fuseflow {

char letter_of(Dim dim) {
  return "MNKL"[index_of(dim)];
}

std::string_view name_of(GatedWay way) {
  switch (way) {
    case GatedWay::none:
      return "none";
    case GatedWay::split:
      return "split";
    case GatedWay::sequential:
      return "sequential";
  }
  return "none";
}

Communication communicate(const ClusterShape& shape, GatedWay way, int64_t c_block,
                          int64_t e_block) {
  Communication sent;
  const int64_t branches = way == GatedWay::sequential ? 2 : 1;
  sent.exchange_gather = c_block / shape.k * (shape.k - 1);
  sent.exchange_partial = branches * sent.exchange_gather;
  sent.shuffle = c_block * (shape.shuffle() - 1);
  sent.reduce_scatter = e_block / shape.reduce() * (shape.reduce() - 1);
  return sent;
}

namespace {

/// Bytes of the larger of what a block gets of partial sums of C and of E.
int64_t received_sums(const ClusterShape& shape, int64_t c_block, int64_t e_block) {
  constexpr int64_t kSumBytes = 4;
  int64_t bytes = 0;
  if (shape.k > 1) bytes = std::max(bytes, c_block / shape.k * kSumBytes);
  if (shape.reduce() > 1) bytes = std::max(bytes, e_block / shape.reduce() * kSumBytes);
  return bytes;
}

}  // namespace

int64_t slice_slots(const ClusterShape& shape) {
  return std::clamp<int64_t>(shape.shuffle() - 1, 0, kReceiveSlots);
}

int64_t receive_room(const ClusterShape& shape, int64_t c_block, int64_t e_block,
                     int64_t element_bytes, bool slices_stay, int64_t for_slices) {
  const int64_t sums = received_sums(shape, c_block, e_block), slice = c_block * element_bytes;
  if (slices_stay) return kReceiveSlots * sums + (shape.shuffle() - 1) * slice;
  return std::max(kReceiveSlots * sums, shape.shuffle() > 1 ? for_slices * slice : 0);
}

}  // namespace fuseflow
