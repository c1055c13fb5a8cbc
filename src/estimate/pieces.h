// Which pieces of an array references meet within loops: a window goes over the same rows again and
// again, before it goes on.
#pragma once

#include "estimate/counts.h"
#include "estimate/port.h"
#include "estimate/structure.h"

namespace fuseflow::estimate {

class AccessedPieces {
 public:
  /// What lies closer together than `apart` bytes is one piece.
  AccessedPieces(const Structure& structure, const Counts& counts, double apart)
      : s_(structure), counts_(counts), apart_(apart) {}

  /// By the references `ref`, to `unit` bytes each, within so many cycles, one of them a cycle.
  ArrayPieces within(StreamId ref, double unit, double cycles) const;

 private:
  /// Positions of a level.
  struct Rows {
    double number = 1;
    bool together = true;  ///< one after the other
  };

  ArrayPieces inside(StreamId ref, double unit, int around) const;
  Rows rows_met(const Node& made, int around) const;
  double passed(StreamId ref, int around) const;
  double length(int space) const;

  const Structure& s_;
  const Counts& counts_;
  const double apart_;
};

}  // namespace fuseflow::estimate
