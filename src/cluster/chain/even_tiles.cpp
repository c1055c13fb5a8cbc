#include "cluster/chain/even_tiles.h"

#include <algorithm>
#include <array>

#include "cluster/chain/bound.h"
#include "cluster/chain/on_chip.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostTile = 512;  ///< more steps than a few: up to the largest that ever fits
constexpr int64_t kFewSteps = 4;

int64_t whole_tiles(int64_t size, int64_t unit) {
  return ceil_div(size, unit) * unit;
}

bool power_of_two(int64_t value) {
  return (value & (value - 1)) == 0;
}

/// The published space has the tiles that such an extent needs.
bool even_enough(int64_t size, int64_t unit) {
  return power_of_two(whole_tiles(size, unit));
}

/// Whether the tiles are those of a published plan: powers of two that divide the padded extents.
bool published(const Chain& chain, const Plan& plan, const Extents& covered) {
  const auto& tiles = plan.tile.value;
  return covered == chain.size && std::all_of(tiles.begin(), tiles.end(), power_of_two);
}

class EvenWalk {
 public:
  EvenWalk(const Chain& chain, const Machine& machine, const SearchOptions& options,
           int64_t to_beat)
      : chain_(chain),
        machine_(machine),
        options_(options),
        to_beat_(to_beat),
        covered_(as_covered(chain, chain.size)),
        ranking_(chain, machine, options.holding) {
    for (const Dim dim : kAllDims) {
      for (int blocks = 1; blocks <= kLargestCluster; blocks *= 2) {
        tiles_[static_cast<size_t>(dim)][static_cast<size_t>(blocks)] =
            even_tiles(chain.actual()[dim], blocks, tile_unit(chain, dim));
      }
    }
  }

  EvenPlans run() {
    for (const ClusterShape& shape : shapes_for(options_.holding, machine_)) {
      if (!shape.regular()) continue;
      for (const GatedWay way : gated_ways(chain_)) {
        if (way == GatedWay::split && shape.k != 2) continue;
        plan_.shape = shape;
        plan_.way = way;
        tiles();
      }
    }
    result_.plans = ranking_.take_best(options_.top);
    return std::move(result_);
  }

 private:
  const std::vector<EvenTile>& tiles_of(Dim dim) const {
    const bool all_of_k = dim == Dim::k && plan_.way == GatedWay::split;
    const int64_t blocks = all_of_k ? 1 : plan_.shape.along(dim);
    return tiles_[static_cast<size_t>(dim)][static_cast<size_t>(blocks)];
  }
  void set(Dim dim, const EvenTile& at) {
    plan_.tile[dim] = at.tile;
    covered_.size[dim] = at.covered;
  }
  /// Accumulators alone need these registers (rule 5); tiles are in ascending order.
  bool accumulators_fit(int64_t columns) const {
    return kAccumulatorBytes * plan_.tile[Dim::m] * columns <= machine_.core.register_bytes;
  }

  void tiles() {
    const int64_t branches = plan_.way == GatedWay::sequential ? 2 : 1;
    for (const EvenTile& m : tiles_of(Dim::m)) {
      set(Dim::m, m);
      for (const EvenTile& n : tiles_of(Dim::n)) {
        if (!accumulators_fit(branches * n.tile)) break;
        set(Dim::n, n);
        for (const EvenTile& l : tiles_of(Dim::l)) {
          if (!accumulators_fit(branches * n.tile + l.tile)) break;
          set(Dim::l, l);
          for (const EvenTile& k : tiles_of(Dim::k)) {
            set(Dim::k, k);
            schedules();
          }
        }
      }
    }
  }

  void schedules() {
    if (published(chain_, plan_, covered_.size)) return;
    for (const LoopSchedule& schedule : schedules_) {
      plan_.schedule = schedule;
      const ChainSteps steps = steps_of(covered_, plan_);
      ++number_;
      if (obstacle_of(covered_, plan_, steps) != Obstacle::none) continue;
      if (capacity_built(covered_, plan_, steps, machine_, options_.holding).fits()) cost();
    }
  }

  void cost() {
    RankedPlan plan;
    plan.plan = plan_;
    plan.size = covered_.size;
    plan.analysis = analyze(covered_, plan_, machine_, options_.holding);
    if (to_beat_ > 0 && least_cycles(plan.analysis, plan_, machine_) >= to_beat_) {
      ++result_.bounded;
      return;
    }
    plan.cost = cost_of(plan.analysis, plan_, machine_);
    plan.candidate = number_;
    ranking_.add(plan);
  }

  const Chain& chain_;
  const Machine& machine_;
  const SearchOptions& options_;
  const int64_t to_beat_;
  const std::vector<LoopSchedule> schedules_ = pruned_schedules();
  Chain covered_;  ///< as the plan at hand pads it
  Plan plan_;
  int64_t number_ = 0;
  /// By dimension and blocks of a cluster along it.
  std::array<std::array<std::vector<EvenTile>, kLargestCluster + 1>, kDims> tiles_;
  Ranking ranking_;
  EvenPlans result_;
};

}  // namespace

std::vector<EvenTile> even_tiles(int64_t size, int64_t blocks, int64_t unit) {
  std::vector<EvenTile> tiles;
  const int64_t padded = padded_extent(size, unit);
  const auto add = [&](int64_t steps) {
    const int64_t tile = whole_tiles(ceil_div(size, blocks * steps), unit);
    const int64_t covered = ceil_div(size, blocks * tile) * blocks * tile;
    if (covered > padded && 3 * (covered - size) > size) return;
    tiles.push_back({tile, covered});
  };
  if (even_enough(size, unit)) {
    for (const int64_t tile : tile_sizes(padded)) {
      if (tile % unit == 0 && padded % (blocks * tile) == 0) tiles.push_back({tile, padded});
    }
    return tiles;
  }
  for (int64_t steps = 1; steps <= kFewSteps; ++steps) add(steps);
  for (int64_t tile = unit; tile <= kMostTile; tile *= 2) add(ceil_div(size, blocks * tile));
  std::sort(tiles.begin(), tiles.end(),
            [](const EvenTile& a, const EvenTile& b) { return a.tile < b.tile; });
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  return tiles;
}

EvenPlans even_plans(const Chain& chain, const Machine& machine, const SearchOptions& options,
                     int64_t to_beat) {
  const bool published_alone = std::all_of(kAllDims.begin(), kAllDims.end(), [&](Dim dim) {
    return even_enough(chain.actual()[dim], tile_unit(chain, dim));
  });
  if (published_alone) return {};
  return EvenWalk(chain, machine, options, to_beat).run();
}

}  // namespace fuseflow::cluster
