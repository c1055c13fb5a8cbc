// Plans in the order in which they are simulated: by phased, memory cost, global bytes, tile
// products, and their place in the enumeration.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/chain/analyzer.h"

namespace fuseflow::cluster {

struct RankedPlan {
  Plan plan;
  Extents size;  ///< what its tiles cover: the extents of the chain, padded to whole steps
  Analysis analysis;
  Cost cost;
  int64_t candidate = 0;  ///< position in enumeration order; the last tie breaker
};

/// The chain as a plan of it computes it.
Chain as_covered(const Chain& chain, const Extents& size);

class Ranking {
 public:
  /// `chain` and `machine` stay in use.
  Ranking(const Chain& chain, const Machine& machine, Holding holding)
      : chain_(chain), machine_(machine), holding_(holding) {}

  /// `size`: as in RankedPlan; `number`: its `candidate`.
  RankedPlan ranked(const Plan& plan, const Extents& size, int64_t number) const;
  void add(const RankedPlan& plan);
  /// The first of each work in order, at most `top` (0: all). Takes them away.
  std::vector<RankedPlan> take_best(int64_t top);

 private:
  /// A costed plan, small: there are hundreds of thousands.
  struct Costed {
    Plan plan;
    Extents size;
    double phased = 0, memory = 0;
    int64_t global = 0, products = 0, number = 0;
  };
  static bool better(const Costed& a, const Costed& b);

  const Chain& chain_;
  const Machine& machine_;
  const Holding holding_;
  std::vector<Costed> costed_;
};

}  // namespace fuseflow::cluster
