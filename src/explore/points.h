// The search space: for every run of consecutive kernels that could be a region, every way that is
// tried to place its intermediates and to order its loops. Regions run one after another, so a
// program is a partition into such runs, and a point is one region.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lower/placements.h"
#include "machine/machine.h"
#include "passes/runs_alone.h"
#include "search/interval.h"
#include "search/planned_run.h"
#include "search/stream_kernels.h"

namespace fuseflow {

struct SearchSpace {
  size_t max_kernels = 32;     ///< of one region
  size_t max_orders = 8;       ///< tried for each placement
  size_t max_placements = 12;  ///< tried for each run of kernels
  int64_t max_copies = 64;     ///< parallel copies of one node; 1: none
  size_t max_climbs = 64;      ///< runs of kernels for which copies are tried
};

/// An access that reads a tensor in another format than the kernels do.
struct StoredAccess {
  TensorId result = -1;  ///< of the statement
  size_t node = 0;       ///< of its expression
  Format format;
};

/// A grouping of kernels that the search must not be worse than: its regions as runs of kernels.
struct Seed {
  struct Part {
    size_t first = 0;
    size_t last = 0;
    Schedule schedule;       ///< given by hand: taken as it is
    bool scheduled = false;  ///< else: the default placements, and the recomputing ones
    std::shared_ptr<const PlannedRun> planned = nullptr;  ///< for cores; no schedule then
    std::vector<StoredAccess> stored = {};                ///< beside the schedule
    Interval kernels() const { return {first, last}; }
  };
  std::string name;
  std::vector<Part> parts;
};

/// How the intermediates of a region are placed.
inline constexpr const char* kStoreAll = "store";
/// The recipe of a region that is a graph for cores.
inline constexpr const char* kTiles = "tiles";

struct PlacementRecipe {
  std::string name;  ///< "default", kStoreAll, "recompute", or placements: "%t=scratchpad"
  PlacementOptions options;
  std::vector<UsePlacement> placements;  ///< given by hand, before the options decide the rest
};

struct Point {
  size_t id = 0;     ///< its number in the tables of this search
  uint64_t key = 0;  ///< key_of the point, once it is in a search
  /// The kernel as the program has it: its schedule, and its graph if it has one.
  bool as_given = false;
  std::shared_ptr<const PlannedRun> planned = nullptr;  ///< runs on cores: tiles, not streams
  size_t first = 0;                                     ///< kernels first .. last are one region
  size_t last = 0;
  PlacementRecipe recipe;
  std::vector<std::string> order;  ///< empty: the default
  std::vector<Parallel> parallel;
  std::vector<Join> joins;
  std::vector<StoredAccess> stored;
  std::string seed;     ///< the seeds that it is part of, ';' between; empty: none
  std::string refused;  ///< why it is not possible; empty if it is
  Interval kernels() const { return {first, last}; }
  bool has_copies() const { return !parallel.empty(); }
  /// Its graph is made for it: there is nothing to place, order or copy.
  bool has_own_graph() const { return as_given || planned != nullptr; }
};

/// A hash of what the point is, in the program whose blocks have this side: the same in every
/// search of the program, whatever else is tried there and in which time. Journals and shards know
/// points by it.
uint64_t key_of(const Point& point, int64_t block);

/// Runs of kernels as regions. A run by itself is a region of a small program
/// (passes/runs_alone.h), so that what is done for one takes no more time in a long program.
class KernelRuns {
 public:
  explicit KernelRuns(const Program& kernels) : kernels_(kernels), alone_(kernels) {}
  RunAlone make(Interval run) const { return alone_.make(run.first, run.last, ""); }
  /// The point's run as a region with its placements, order and copies (apply_point).
  RunAlone apply(const Point& point) const;
  size_t size() const { return kernels_.regions.size(); }
  /// The partition's program: regions of kernels starts[k] .. starts[k+1]-1, by position.
  Program partition(const std::vector<size_t>& starts) const;
  /// The region of such a program that has this kernel: they may be in another order.
  size_t region_of(const Program& program, size_t kernel) const;

 private:
  const Program& kernels_;
  RunsAlone alone_;
};

/// The region with the point's placements, order and copies; without a graph, unless the point
/// takes the region as it is given. Throws Error when that cannot be.
Program apply_point(Program program, size_t region, const Point& point);

/// Whether the point is part of the seed of this name.
bool is_of_seed(const Point& point, const std::string& name);

/// Says that the point is part of seeds, too; `names` with ';' between.
void name_seed(Point& point, const std::string& names);

/// Kernels of the longest runs that are enumerated: `max_kernels`, or less in a long program, whose
/// runs would be too many. Longer ones are those of seeds alone.
size_t longest_run(size_t kernels, const SearchSpace& space);

StreamKernels stream_kernels(const Program& kernels, const Machine& machine,
                             const std::vector<Seed>& seeds);

/// Refuses the points of a run of kernels that run as streams where `may` excludes one of its
/// kernels. Called where points are made.
void refuse_streams(std::vector<Point>& points, const Program& kernels, const Machine& machine,
                    const StreamKernels& may);

/// All points without parallel copies, by id. Throws Error(rejected) naming the rule that left
/// none.
std::vector<Point> enumerate_points(const Program& kernels, const Machine& machine,
                                    const SearchSpace& space, const std::vector<Seed>& seeds);

}  // namespace fuseflow
