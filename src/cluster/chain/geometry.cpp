#include "cluster/chain/geometry.h"

namespace fuseflow::cluster {

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

int64_t inter_cluster_reduce(int64_t clusters_along_n, int64_t clusters_along_k) {
  return clusters_along_n * clusters_along_k;
}

}  // namespace fuseflow::cluster
