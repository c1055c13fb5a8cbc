#include "cluster/common/on_chip.h"

#include <algorithm>
#include <optional>

#include "chip/fit.h"
#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

class KernelNeeds {
 public:
  explicit KernelNeeds(const Graph& graph) : graph_(graph), roles_(kernel_roles(graph)) {}

  std::optional<chip::Needs> needs() {
    if (has_second_product(graph_) || gathered_step(graph_) > 0) return std::nullopt;
    const bool there = roles_.held() ? attention() : product();
    return there ? std::optional(needs_) : std::nullopt;
  }

 private:
  int64_t whole(int dim) const {
    return ceil_div(graph_.indices[static_cast<size_t>(dim)].block, chip::kUnit) * chip::kUnit;
  }
  const Node& node(NodeId n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  /// The load that gives an operand; null: something else does.
  const Node* load_of(const Node& product, size_t input) const {
    const StreamId stream = product.inputs[input].stream;
    const Node& from = node(graph_.streams[static_cast<size_t>(stream)].producer);
    return from.kind == NodeKind::tile_load ? &from : nullptr;
  }
  bool ring(const Node* load, int rows, int columns) {
    if (load == nullptr) return false;
    needs_.rings.push_back({std::max<int64_t>(load->capacity, 1),
                            whole(rows) * whole(columns) * moved_bytes(graph_, *load)});
    return true;
  }

  bool product() {
    if (roles_.reductions.size() != 1 || roles_.steps.size() != 1) return false;
    const Node& of = node(roles_.reductions[0]);
    if (of.kind != NodeKind::tile_multiply) return false;
    if (!ring(load_of(of, 0), kKernelM, kKernelK) || !ring(load_of(of, 1), kKernelK, kKernelN))
      return false;
    const chip::SumsSize sums{whole(kKernelM), whole(kKernelN)};
    needs_.sums = {sums};
    if (depth_cores(graph_) > 1) chip::add_scatter(needs_, sums, depth_cores(graph_));
    if (adding_clusters(graph_) > 1)
      needs_.rooms.push_back(sums.rows * sums.columns * chip::kSumBytes);
    return true;
  }

  /// Scores of two loads, reductions of their rows, a product of what these leave and a load.
  bool attention() {
    const Node* scores = nullptr;
    const Node* product = nullptr;
    int64_t reductions = 0;
    for (const NodeId n : roles_.steps) {
      if (node(n).kind == NodeKind::reduce) ++reductions;
      if (node(n).kind != NodeKind::tile_multiply) continue;
      const Node*& found = is_held_reduction(graph_, node(n)) ? product : scores;
      if (found != nullptr) return false;
      found = &node(n);
    }
    if (scores == nullptr || product == nullptr) return false;
    if (!ring(load_of(*scores, 0), kKernelM, kKernelL) ||
        !ring(load_of(*scores, 1), kKernelL, kKernelK) ||
        !ring(load_of(*product, 1), kKernelK, kKernelN))
      return false;
    needs_.rings[0].copies = 1;
    const int64_t m = whole(kKernelM), k = whole(kKernelK);
    const int64_t rows = m * chip::kSumBytes;
    needs_.sums = {{m, k}, {m, whole(kKernelN)}};
    needs_.together = true;
    // The factor of the second product, in elements; scores, what rows hold, their factors.
    needs_.rooms = {m * k * graph_.tiles->element_bytes, k * rows, reductions * rows, rows,
                    reductions * rows};
    return true;
  }

  const Graph& graph_;
  const KernelRoles roles_;
  chip::Needs needs_;
};

}  // namespace

bool fits_chip(const Graph& graph, const Machine& machine) {
  const auto chip = chip::chip_of(machine);
  if (!chip) return true;
  const auto needs = KernelNeeds(graph).needs();
  return !needs || chip::why_not(*needs, *chip).empty();
}

}  // namespace fuseflow::cluster
