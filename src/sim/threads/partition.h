// Which thread works which nodes: a division of the nodes into parts of about equal work, between
// which little passes. No threads, no streams; whatever it returns, a simulation gives the same.
#pragma once

#include <vector>

namespace fuseflow::engine {

/// The work of nodes and of what passes between them, in any unit of time.
struct Workload {
  /// What one node gives to others.
  struct Net {
    int from = 0;
    std::vector<int> to;
    double giving = 0;  ///< work for the giver's part if some taker is in another part
    double taking = 0;  ///< work for each other part that takes
  };
  std::vector<double> node;
  std::vector<Net> nets;
};

/// The part (0 .. parts-1) of every node.
std::vector<int> divide(const Workload& workload, int parts);

/// The work of each part under such a division.
std::vector<double> loads(const Workload& workload, const std::vector<int>& part, int parts);

}  // namespace fuseflow::engine
