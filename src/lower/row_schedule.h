// When the nodes of a graph work on a row (an iteration of the outer L loops) where rows follow
// each other without a gap: a reduction gives what it made of a row when it has taken all of it.
// Times are in rows, after the first one that is read.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fuseflow {

class RowSchedule {
 public:
  /// Every node as early as its inputs let it.
  explicit RowSchedule(const Graph& graph);

  /// When a node takes a row of L loops: the most that reductions in sequence on a way to it add. A
  /// reduction that ends with a row adds 1, one that ends with a share of it (an iteration of more
  /// loops) that share, one that ends with more nothing: for that all wait once.
  double start(NodeId node, size_t L) const { return nodes_[static_cast<size_t>(node)].start[L]; }
  /// When what a node makes of it comes.
  double given(NodeId node, size_t L) const {
    const Times& times = nodes_[static_cast<size_t>(node)];
    return times.start[L] + times.takes[L];
  }
  /// Lets a node work later than it could.
  void delay(NodeId node, size_t L, double rows) {
    nodes_[static_cast<size_t>(node)].start[L] += rows;
  }

 private:
  struct Times {  ///< by L
    std::vector<double> start;
    std::vector<double> takes;
  };
  static std::vector<double> rows_taken(const Graph& graph, const Node& node, size_t deepest);

  std::vector<Times> nodes_;
};

}  // namespace fuseflow
