#include "cuda/launch_rows.h"

#include <fmt/format.h>

#include "cuda/refuse.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

struct DigitAt {
  int dim = -1;
  size_t place = 0;  ///< among those of the dimension; 0: the slowest
};

DigitAt digit_at(const Graph& graph, int digit) {
  DigitAt at;
  for (size_t dim = 0; dim < graph.indices.size(); ++dim) {
    const int first = first_digit(graph, static_cast<int>(dim));
    if (digit >= first) at = {static_cast<int>(dim), static_cast<size_t>(digit - first)};
  }
  return at;
}

}  // namespace

LaunchRows launch_rows(const Graph& graph, const TableRows& table) {
  LaunchRows launch;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_load && node.kind != NodeKind::tile_store) continue;
    if (!table.rows(node.tensor)) continue;
    const TileSubscript& rows = node.tile.subscripts[0];
    if (rows.terms.size() != 1 || rows.terms[0].second != 1 || rows.offset != 0)
      throw Refused{"rows of the table that are no loop by themselves"};
    const DigitAt at = digit_at(graph, rows.terms[0].first);
    if (at.place != 0 || (launch.dim >= 0 && at.dim != launch.dim))
      throw Refused{"rows of the table that are not the slowest loop of one dimension"};
    const GraphIndex& index = graph.indices[static_cast<size_t>(at.dim)];
    launch.dim = at.dim;
    launch.inner = index.elements() / table.most;
  }
  return launch;
}

int64_t elements_of(const Program& program, TensorId id) {
  int64_t elements = 1;
  for (const int64_t extent : known_shape(program.tensors[static_cast<size_t>(id)]))
    elements *= extent;
  return elements;
}

std::string elements_text(const Program& program, TensorId id, const TableRows* table,
                          const std::string& rows) {
  const int64_t elements = elements_of(program, id);
  if (table == nullptr || !table->rows(id)) return std::to_string(elements);
  return times_rows(rows, elements / table->most);
}

std::string times_rows(const std::string& rows, int64_t factor) {
  return factor == 1 ? rows : fmt::format("{} * {}", rows, factor);
}

std::string steps_text(const LaunchRows& launch, const std::string& rows) {
  const std::string elements = times_rows(rows, launch.inner);
  if (launch.step == 1) return elements;
  return fmt::format("({} + {}) / {}", elements, launch.step - 1, launch.step);
}

}  // namespace fuseflow::cuda
