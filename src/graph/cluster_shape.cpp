#include "graph/cluster_shape.h"

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

}  // namespace fuseflow
