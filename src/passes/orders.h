// The pass `order`: which loop of a region is outside which. Legal orders are the topological sorts
// of the partial order of the region's indices (lower/region_indices.h).
#pragma once

#include <functional>

#include "lower/region_indices.h"
#include "passes/pass.h"
#include "passes/topological.h"

namespace fuseflow {

/// Which constraints an order has to meet.
enum class Constraints : uint8_t {
  free,        ///< what the formats need and what the schedule says must stream
  scheduled,   ///< and the orders that the schedule gives
  concordant,  ///< and, as far as they fit together, every view walked in its storage order, every
               ///< use streamed
};

/// The region's indices, and the partial order between them. Throws Error(rejected) naming the
/// constraints that clash if there is no order.
struct RegionOrders {
  RegionIndices indices;
  PartialOrder partial;
};
RegionOrders region_orders(const Program& program, size_t region, Constraints constraints);

/// The sorts of this are the orders that meet the constraints; if `preferences`, also those of the
/// preferences that fit. There is one.
PartialOrder partial_order(const RegionIndices& indices, bool preferences);

/// Calls `visit` with each order of a region, as `--order` takes it ("layer1=i,j,k"), until it
/// returns false. The region is that which lowering would make of it (complete_schedule.h), and the
/// orders are those that it can be lowered in. Throws what region_orders throws.
void list_orders(const Program& program, size_t region, Constraints constraints, PassLog& log,
                 const std::function<bool(const std::string& line)>& visit);

/// The names of an order's indices, as an order is written: "i, j, k".
std::string order_text(const RegionIndices& indices, const std::vector<int>& order);

/// Positions of the regions that `names` say; all if empty. Throws Error(rejected), with the
/// nearest.
std::vector<size_t> find_regions(const Program& program, const std::vector<std::string>& names);

}  // namespace fuseflow
