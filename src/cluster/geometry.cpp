#include "cluster/geometry.h"

namespace fuseflow::cluster {

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

std::vector<ClusterShape> all_cluster_shapes() {
  constexpr std::array<int, 5> kSizes{1, 2, 4, 8, 16};
  std::vector<ClusterShape> shapes;
  for (const int m : kSizes) {
    for (const int n : kSizes) {
      for (const int k : kSizes) {
        for (const int l : kSizes) {
          shapes.push_back({m, n, k, l});
        }
      }
    }
  }
  return shapes;
}

bool shape_allowed(const ClusterShape& shape) {
  return shape.cores() <= kLargestCluster && shape.cores() > 1 && shape.l >= shape.k;
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

int64_t inter_cluster_reduce(int64_t clusters_along_n, int64_t clusters_along_k) {
  return clusters_along_n * clusters_along_k;
}

int64_t second_step(const ClusterShape& shape, int64_t blk_n) {
  return blk_n / shape.reduce();
}

}  // namespace fuseflow::cluster
