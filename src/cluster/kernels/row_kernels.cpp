#include "cluster/kernels/row_kernels.h"

#include <algorithm>
#include <set>

#include "cluster/common/load_cycles.h"
#include "graph/tiles.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/lanes.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostRowsSimulated = 16;
constexpr int64_t kMostRowSteps = int64_t{1} << 18;               ///< of all tiles
constexpr int64_t kLeastElements = 32, kMostRowElements = 16384;  ///< of a tile
constexpr int64_t kLeastWidth = 8;                                ///< ... along its rows

/// Cycles of the slowest core, roughly: of each step the longest of what its port, its lanes and
/// its scratchpad take, and of the way of its loads over their copies.
class Costs {
 public:
  Costs(const Graph& graph, const Machine& machine)
      : g_(graph), machine_(machine), roles_(kernel_roles(graph)), tiles_(kernel_tiles(graph)) {}

  double all() const {
    const int64_t tiles = tiles_[kKernelM] * tiles_[kKernelN] * tiles_[kKernelG];
    const int64_t at_work = std::min(std::max<int64_t>(machine_.concurrent_clusters(1), 1), tiles);
    const bool reduces = !roles_.reductions.empty();
    const double steps = reduces ? static_cast<double>(tiles_[kKernelK]) : 1;
    const double loaded = loaded_in_step(), stored = stored_in_tile();
    const double path = load_path({loaded, 0}, 1, machine_);
    const double load = load_cycles({loaded, 0}, 1, at_work, machine_);
    const double store = store_cycles(stored, false, at_work, machine_);
    const double computed = lanes(reduces ? roles_.steps : roles_.last);
    const double step = std::max({load, computed, scratchpad(2 * loaded)});
    // Stores share the port with the loads of what comes next.
    const double last = reduces ? lanes(roles_.last) : 0;
    const double tile = std::max(
        {steps * step + last, steps * load + store, scratchpad(2 * (steps * loaded + stored))});
    const auto turns = static_cast<double>(ceil_div(tiles, at_work));
    const double rounds = turns * steps / static_cast<double>(copies()) - 1;  // after the first
    return path + std::max(turns * tile, rounds * path) + store;
  }

 private:
  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  double scratchpad(double bytes) const {
    return cycles_at(bytes, machine_.core.scratchpad_bytes_per_cycle);
  }

  /// A tile that is the same for all others stays.
  double loaded_in_step() const {
    int64_t bytes = 0;
    for (const NodeId n : roles_.loads) {
      const auto varies = varies_along(g_, node(n));
      bool changes = false;
      for (size_t d = 0; d < varies.size(); ++d) {
        changes = changes || (varies[d] && g_.indices[d].extent > 1);
      }
      if (changes) bytes += tile_elements(g_, node(n).outputs[0]) * moved_bytes(g_, node(n));
    }
    return static_cast<double>(bytes);
  }

  double stored_in_tile() const {
    const Node& store = node(roles_.store);
    return static_cast<double>(tile_elements(g_, store.inputs[0].stream) * moved_bytes(g_, store));
  }

  /// Every operation takes the lanes for a cycle at least.
  double lanes(const std::vector<NodeId>& nodes) const {
    double cycles = 0;
    for (const NodeId n : nodes) {
      cycles += std::max(1.0, lane_cycles(kernel_lanes(g_, node(n)), machine_));
    }
    return cycles;
  }

  int64_t copies() const {
    int64_t copies = kMostCopiesTried;
    for (const NodeId n : roles_.loads) copies = std::min(copies, node(n).capacity);
    return std::max<int64_t>(copies, 1);
  }

  const Graph& g_;
  const Machine& machine_;
  const KernelRoles roles_;
  const KernelSizes tiles_;
};

/// With as many copies of the loads as fit.
std::optional<Candidate<KernelSizes>> fitting(const KernelForm& form, const KernelSizes& block,
                                              const Machine& machine) {
  for (int64_t copies = kMostCopiesTried; copies > 0; --copies) {
    Candidate<KernelSizes> candidate{block, kernel_graph(form, block, copies), 0};
    if (!fits_core(kernel_need(candidate.graph), machine)) continue;
    candidate.cost = Costs(candidate.graph, machine).all();
    return candidate;
  }
  return std::nullopt;
}

/// Tiles of so many elements, of rows of so many; each once.
std::vector<KernelSizes> blocks_of(const KernelForm& form) {
  const KernelSizes size = sizes_of(form);
  const KernelDim along = size[kKernelK] > 1 ? kKernelK : kKernelN;
  std::vector<KernelSizes> all;
  std::set<KernelSizes> known;
  for (int64_t elements = kLeastElements; elements <= kMostRowElements; elements *= 2) {
    for (int64_t width = kLeastWidth; width <= elements; width *= 2) {
      KernelSizes block{1, 1, 1, 1};
      block[along] = even_block(size[along], width);
      block[kKernelM] = even_block(size[kKernelM], std::max<int64_t>(elements / block[along], 1));
      if (known.insert(block).second) all.push_back(block);
    }
  }
  return all;
}

double steps_of(const KernelForm& form, const KernelSizes& block) {
  double steps = 1;
  for (size_t d = 0; d < block.size(); ++d) {
    steps *= static_cast<double>(ceil_div(sizes_of(form)[d], block[d]));
  }
  return steps;
}

}  // namespace

std::optional<RowKernelPlan> fastest_row_kernel(const KernelForm& form, const Machine& machine) {
  std::vector<Candidate<KernelSizes>> all;
  for (const KernelSizes& block : blocks_of(form)) {
    if (steps_of(form, block) > static_cast<double>(kMostRowSteps)) continue;
    if (auto candidate = fitting(form, block, machine)) all.push_back(std::move(*candidate));
  }
  return fastest_of(std::move(all), kMostRowsSimulated, 0, machine);
}

}  // namespace fuseflow::cluster
