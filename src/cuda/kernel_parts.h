// What kernels have in common: their rows, their tiles over clusters, their loads, and the work
// after their last step.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chip/fit.h"
#include "cuda/kernel.h"
#include "graph/tile_kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Rows, columns and depth of a product are multiples of it.
inline constexpr int64_t kProductUnit = chip::kUnit;

/// The kernel of a graph, without objects and steps yet. `table`: null where the program is none of
/// a table. Throws Refused for rows that are no dimension of the graph.
Kernel begin_kernel(const Graph& graph, const TableRows* table);

/// Gives each cluster one tile of each of these dimensions, the first of which changes fastest.
/// Sets the kernel's clusters and variables; gives the tile's number by name.
std::map<std::string, Coordinate> spread_over_clusters(
    Kernel& kernel, const std::vector<std::pair<std::string, int64_t>>& tiles);

/// A load of whole tiles from node `from`, in a ring of its own. `peers`: the cores that get the
/// same one.
void add_load(const Program& program, Kernel& kernel, const std::string& name, NodeId from,
              const DimensionAt& row, const DimensionAt& column, const DimensionAt& batch,
              CoreGroup peers, chip::Side side);

/// The steps of k, where some are left out: of a cluster that has group number `group` of `cores`
/// tiles of rows each, element `batch` of the batch, and part number `part` of k. `core`: which of
/// the tiles this core has. Throws Refused where there are too many to be data of a kernel.
std::optional<StepLists> step_lists(const Graph& graph, const Coordinate& group, int64_t cores,
                                    const Coordinate& core, const Coordinate& batch,
                                    const Coordinate& part);

/// Do tiles along a dimension have columns that do not exist, since they fill a product or the last
/// tile is cut? What they hold of a product may be NaN (an infinity by the zeros of an operand),
/// and NaN it stays in a next product: matrices that products take pass through Work, which leaves
/// 0 there.
bool has_columns_beyond(const Graph& graph, int dim);

/// Elementwise nodes after the last step.
std::vector<NodeId> work_after_steps(const Graph& graph, const KernelRoles& roles);

}  // namespace fuseflow::cuda
