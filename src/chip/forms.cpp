#include "chip/forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "chip/fit.h"
#include "graph/tile_kernel.h"
#include "graph/tiles.h"

namespace fuseflow::chip {
namespace {

const Node& node_at(const Graph& graph, NodeId n) {
  return graph.nodes[static_cast<size_t>(n)];
}

/// Does an operand of a product come from memory as it is?
bool is_loaded(const Graph& graph, const Node& product, size_t input) {
  const StreamId stream = product.inputs[input].stream;
  return node_at(graph, graph.streams[static_cast<size_t>(stream)].producer).kind ==
         NodeKind::tile_load;
}

std::string why_no_chain(const Graph& graph) {
  const TileGeometry g = tile_geometry(graph);
  const NodeId hold = tile_roles(graph).hold;
  if (g.e_tiles_held > 1)
    return fmt::format("{} partial tiles of the result held over the steps of N", g.e_tiles_held);
  if (hold >= 0 && node_at(graph, hold).tile.held[3] > 0) return "C held in global memory";
  if (overwrites_c(graph) && g.shape.k > 1 && g.c_tiles_held > 1)
    return "several held tiles of C that are exchanged, and then overwritten";
  for (const Dim dim : kAllDims) {
    if (g.tile[dim] % kUnit == 0) continue;
    return fmt::format("tiles of {} along {}, which are no multiple of {}", g.tile[dim],
                       letter_of(dim), kUnit);
  }
  return "";
}

/// Reductions that walk k together: scores of two loads, reductions of their rows, a product of
/// what these leave and a load.
std::string why_no_attention(const Graph& graph, const KernelRoles& roles) {
  if (depth_cores(graph) > 1 && roles.scatter < 0) return "keys in parts without a sum of shares";
  if (kernel_walks(graph, roles).size() > 1)
    return "a second walk of the keys (rounded weights) is not generated yet";
  NodeId scores = -1, product = -1;
  for (const NodeId id : roles.steps) {
    if (node_at(graph, id).kind != NodeKind::tile_multiply) continue;
    NodeId& found = is_held_reduction(graph, node_at(graph, id)) ? product : scores;
    if (found >= 0) return "several products with rows, or of scores, in a step";
    found = id;
  }
  if (scores < 0 || product < 0)
    return "reductions that walk k together, without scores and a product of them";
  if (roles.steps.back() != product) return "reductions after the product of a step";
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!is_loaded(graph, node_at(graph, scores), i)) return "scores of what is computed";
  }
  return is_loaded(graph, node_at(graph, product), 1)
             ? ""
             : "a product with what is computed on both sides";
}

std::string why_no_kernel(const Graph& graph) {
  if (has_second_product(graph)) return "a product after a sparse one is not generated yet";
  if (gathered_step(graph) > 0) return "gathered rows are not generated yet";
  const KernelRoles roles = kernel_roles(graph);
  if (roles.held()) return why_no_attention(graph, roles);
  const bool reduces = !roles.reductions.empty();
  const Node* const reduction = reduces ? &node_at(graph, roles.reductions[0]) : nullptr;
  if (reduces && reduction->kind == NodeKind::tile_multiply) {
    if (roles.steps.size() != 1) return "elementwise work before a product is not generated yet";
    return is_loaded(graph, *reduction, 0) && is_loaded(graph, *reduction, 1)
               ? ""
               : "a product of what is computed is not generated yet";
  }
  if (depth_cores(graph) > 1 || adding_clusters(graph) > 1)
    return "reductions of rows in parts are not generated yet";
  if (reduces && (kernel_tiles(graph)[kKernelN] > 1 || kernel_block(graph)[kKernelN] > 1))
    return "columns after a reduction of rows are not generated yet";
  return "";
}

std::string why_no_rows(const Graph& graph) {
  const bool computed = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.kind == NodeKind::tile_multiply && !is_loaded(graph, node, 1);
  });
  return computed ? "a product with weights that are computed" : "";
}

}  // namespace

bool overwrites_c(const Graph& graph) {
  const TileGeometry g = tile_geometry(graph);
  return g.temporal[Dim::m] * g.temporal[Dim::n] > g.c_tiles_held;
}

std::string why_no_form(const Graph& graph) {
  switch (tile_form(graph)) {
    case TileForm::chain:
      return why_no_chain(graph);
    case TileForm::kernel:
      return why_no_kernel(graph);
    case TileForm::rows:
      return why_no_rows(graph);
  }
  return "no such form of tiles";
}

}  // namespace fuseflow::chip
