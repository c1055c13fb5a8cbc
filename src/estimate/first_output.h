// How long reductions take before they first give something.
#pragma once

#include <vector>

#include "estimate/counts.h"

namespace fuseflow::estimate {

/// Nodes are added in their order, as soon as it is known when they start; again, if that changes.
class FirstOutputs {
 public:
  FirstOutputs(const Structure& structure, const Counts& counts);

  /// Node `i` takes its first step at `start`, its steps take `busy`. Returns the cycles from there
  /// to its first output that are not its latency: of a reduction those in which the slowest node
  /// before it gives one of its fibers; else 0.
  double add(size_t i, double start, double busy);

  /// When a node that was added can have taken the first of so many rows, were nothing but the
  /// work of the nodes before it and its own in the way: what a reduction gathers for a row comes
  /// at once.
  double first_row(size_t i, double rows) const { return first_of(supplies_[i], rows); }

 private:
  /// A node before a stream, for a reduction of fewer fibers than `fibers`: what an earlier
  /// reduction has gathered comes at once, unless that one has more fibers.
  struct Supply {
    double fibers = 0;
    double start = 0;
    double busy = 0;
  };

  static void add(std::vector<Supply>& all, const Supply& more);
  static double first_of(const std::vector<Supply>& supply, double fibers);
  void gather(const Node& node, std::vector<Supply>& supply) const;

  const Structure& s_;
  const Counts& counts_;
  std::vector<std::vector<Supply>> supplies_;  ///< by node, of its outputs
};

/// Fibers that a reduction or accumulator reduces; at least 1.
double reduced_fibers(const Structure& structure, const Counts& counts, const Node& node);

}  // namespace fuseflow::estimate
