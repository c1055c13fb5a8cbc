#include "cluster/chain/search.h"

#include <fmt/format.h>

#include <algorithm>

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

/// The walk over what rules 1 to 4 leave, applying rule 5 and costing.
class Walk {
 public:
  Walk(const Chain& chain, const Machine& machine, const SearchOptions& options)
      : chain_(chain),
        machine_(machine),
        options_(options),
        ranking_(chain, machine, options.holding) {
    ways_ = gated_ways(chain);
    for (int d = 0; d < kDims; ++d) {
      tiles_[static_cast<size_t>(d)] = tile_sizes(chain.size.value[static_cast<size_t>(d)]);
    }
  }

  void run(const std::vector<LoopSchedule>& schedules, const std::vector<ClusterShape>& shapes) {
    for (const LoopSchedule& schedule : schedules) {
      for (const ClusterShape& shape : shapes) {
        plan_.schedule = schedule;
        plan_.shape = shape;
        tiles();
      }
    }
  }

  int64_t fitting() const { return fitting_; }
  int64_t executable() const { return executable_; }
  std::vector<RankedPlan> take_best() { return ranking_.take_best(options_.top); }
  void sample(const SampleOptions& sample) {
    sample_ = sample;
    random_ = sample.seed;
  }
  std::vector<RankedPlan> take_sample() { return std::move(sampled_); }

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
      if (capacity_of(chain_, plan_, steps, machine_, options_.holding).fits()) {
        fits = true;
        if (obstacle_of(chain_, plan_, steps) == Obstacle::none &&
            capacity_built(chain_, plan_, steps, machine_, options_.holding).fits()) {
          runs = true;
          cost();
        }
      }
    }
    fitting_ += fits ? 1 : 0;
    executable_ += runs ? 1 : 0;
    ++number_;
  }

  void cost() {
    if (options_.skip_costs) {
      return;
    }
    const RankedPlan plan = ranking_.ranked(plan_, chain_.size, number_);
    if (sample_.plans > 0) {
      keep_sample(plan);
      return;
    }
    ranking_.add(plan);
  }

  void keep_sample(const RankedPlan& ranked) {
    ++drawn_;
    if (static_cast<int>(sampled_.size()) < sample_.plans) {
      sampled_.push_back(ranked);
      return;
    }
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const uint64_t at = (random_ >> 33) % static_cast<uint64_t>(drawn_);
    if (at < sampled_.size()) {
      sampled_[at] = ranked;
    }
  }

  const Chain& chain_;
  const Machine& machine_;
  const SearchOptions& options_;
  Ranking ranking_;
  std::vector<GatedWay> ways_;
  std::array<std::vector<int64_t>, kDims> tiles_;
  Plan plan_;
  int64_t fitting_ = 0;
  int64_t executable_ = 0;
  int64_t number_ = 0;
  SampleOptions sample_;
  uint64_t random_ = 0;
  int64_t drawn_ = 0;
  std::vector<RankedPlan> sampled_;
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
  Walk walk(chain, machine, options);
  walk.run(pruned_schedules(), shapes_for(options.holding, machine));
  result.counts.left[5] = walk.fitting();
  result.executable = walk.executable();
  result.best = walk.take_best();
  return result;
}

std::vector<RankedPlan> random_plans(const Chain& chain, const Machine& machine,
                                     const SampleOptions& options) {
  SearchOptions all;
  all.holding = options.holding;
  Walk walk(chain, machine, all);
  walk.sample(options);
  walk.run(pruned_schedules(), shapes_for(options.holding, machine));
  return walk.take_sample();
}

}  // namespace fuseflow::cluster
