#include "cluster/chain/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cluster/chain/on_chip.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

int64_t checked_product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      throw Error(ExitCode::rejected,
                  "the search space has more than 2^63-1 candidates, expected "
                  "smaller extents");
    }
  }
  return product;
}

/// The walk over what rules 1 to 4 leave, applying rule 5.
class Walk {
 public:
  /// `on_plan` gets the executable plans, with their numbers among all candidates.
  using OnPlan = std::function<void(const Plan& plan, int64_t number)>;
  Walk(const Chain& chain, const Machine& machine, Holding holding, OnPlan on_plan)
      : chain_(chain),
        machine_(machine),
        holding_(holding),
        on_plan_(std::move(on_plan)),
        ways_(gated_ways(chain)) {
    for (int d = 0; d < kDims; ++d) {
      tiles_[static_cast<size_t>(d)] = tile_sizes(chain.size.value[static_cast<size_t>(d)]);
    }
  }

  void run() {
    const std::vector<ClusterShape> shapes = shapes_for(holding_, machine_);
    for (const LoopSchedule& schedule : pruned_schedules()) {
      for (const ClusterShape& shape : shapes) {
        plan_.schedule = schedule;
        plan_.shape = shape;
        tiles();
      }
    }
  }

  int64_t fitting() const { return fitting_; }
  int64_t executable() const { return executable_; }

 private:
  void tiles() {
    for (const int64_t m : tiles_[0]) {
      for (const int64_t n : tiles_[1]) {
        for (const int64_t k : tiles_[2]) {
          for (const int64_t l : tiles_[3]) {
            plan_.tile.value = {m, n, k, l};
            candidate();
          }
        }
      }
    }
  }

  void candidate() {
    bool fits = false;
    bool runs = false;
    for (const GatedWay way : ways_) {
      plan_.way = way;
      const ChainSteps steps = steps_of(chain_, plan_);
      if (!capacity_of(chain_, plan_, steps, machine_, holding_).fits()) continue;
      fits = true;
      if (obstacle_of(chain_, plan_, steps) != Obstacle::none) continue;
      if (!capacity_built(chain_, plan_, steps, machine_, holding_).fits()) continue;
      runs = true;
      on_plan_(plan_, number_);
    }
    fitting_ += fits ? 1 : 0;
    executable_ += runs ? 1 : 0;
    ++number_;
  }

  const Chain& chain_;
  const Machine& machine_;
  const Holding holding_;
  const OnPlan on_plan_;
  const std::vector<GatedWay> ways_;
  std::array<std::vector<int64_t>, kDims> tiles_;
  Plan plan_;
  int64_t fitting_ = 0;
  int64_t executable_ = 0;
  int64_t number_ = 0;
};

/// Counts that are products of independent choices.
Counts closed_counts(const Chain& chain) {
  int64_t any_tile = 1;
  int64_t dividing = 1;
  for (const int64_t size : chain.size.value) {
    any_tile = checked_product({any_tile, std::max<int64_t>(size / 16, 1)});
    dividing = checked_product({dividing, static_cast<int64_t>(tile_sizes(size).size())});
  }
  const auto count = [](const auto& all, const auto& keep) {
    return static_cast<int64_t>(std::count_if(all.begin(), all.end(), keep));
  };
  const auto shapes = all_cluster_shapes();
  const auto schedules = all_schedules();
  const auto all_shapes = static_cast<int64_t>(shapes.size());
  const auto all_orders = static_cast<int64_t>(schedules.size());
  const int64_t kept_shapes = count(shapes, shape_allowed);
  Counts counts;
  counts.left[0] = checked_product({any_tile, all_shapes, all_orders});
  counts.left[1] = checked_product({dividing, all_shapes, all_orders});
  counts.left[2] = checked_product({dividing, kept_shapes, all_orders});
  counts.left[3] =
      checked_product({dividing, kept_shapes, count(schedules, accumulation_innermost)});
  counts.left[4] =
      checked_product({dividing, kept_shapes, static_cast<int64_t>(pruned_schedules().size())});
  return counts;
}

}  // namespace

std::vector<int64_t> tile_sizes(int64_t size) {
  std::vector<int64_t> tiles;
  for (int64_t tile = 16; tile <= size && size % tile == 0; tile *= 2) {
    tiles.push_back(tile);
  }
  return tiles;
}

/// Clusters that the machine has cores for.
std::vector<ClusterShape> shapes_for(Holding holding, const Machine& machine) {
  std::vector<ClusterShape> shapes;
  if (holding != Holding::linked) {
    return {ClusterShape{}};
  }
  for (const ClusterShape& shape : all_cluster_shapes()) {
    if (shape_allowed(shape) && machine.concurrent_clusters(shape.cores()) > 0) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

std::vector<GatedWay> gated_ways(const Chain& chain) {
  if (chain.gated()) return {GatedWay::split, GatedWay::sequential};
  return {GatedWay::none};
}

SearchResult search(const Chain& chain, const Machine& machine, const SearchOptions& options) {
  SearchResult result;
  result.counts = closed_counts(chain);
  Ranking ranking(chain, machine, options.holding);
  Walk walk(chain, machine, options.holding, [&](const Plan& plan, int64_t number) {
    if (!options.skip_costs) ranking.add(ranking.ranked(plan, chain.size, number));
  });
  walk.run();
  result.counts.left[5] = walk.fitting();
  result.executable = walk.executable();
  result.best = ranking.take_best(options.top);
  return result;
}

std::vector<RankedPlan> random_plans(const Chain& chain, const Machine& machine,
                                     const SampleOptions& options) {
  const Ranking ranking(chain, machine, options.holding);
  std::vector<RankedPlan> sample;
  uint64_t random = options.seed, drawn = 0;
  Walk walk(chain, machine, options.holding, [&](const Plan& plan, int64_t number) {
    ++drawn;
    size_t at = sample.size();
    if (at < static_cast<size_t>(options.plans)) {
      sample.emplace_back();
    } else {
      random = random * 6364136223846793005U + 1442695040888963407U;
      at = (random >> 33) % drawn;
    }
    if (at < sample.size()) sample[at] = ranking.ranked(plan, chain.size, number);
  });
  walk.run();
  return sample;
}

}  // namespace fuseflow::cluster
