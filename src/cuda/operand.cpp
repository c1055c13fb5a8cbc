#include "cuda/operand.h"

#include <fmt/format.h>

#include <numeric>

#include "cuda/coordinates.h"
#include "cuda/refuse.h"
#include "graph/tiles.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kCopyAlignment = 16;  ///< bytes, of pitches

/// Elements of a tensor from one coordinate of each dimension to the next.
std::vector<int64_t> pitches(const std::vector<int64_t>& shape) {
  std::vector<int64_t> by(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) by[d - 1] = by[d] * shape[d];
  return by;
}

/// Whether every subscript is inside of its dimension for all values of the digits.
bool stays_inside(const Program& program, const Graph& graph, const Node& node) {
  std::vector<int64_t> extents;
  for (const GraphIndex& index : graph.indices) {
    for (const TileDigit& digit : index.tiling.digits) extents.push_back(digit.extent);
  }
  const std::vector<int64_t> shape = known_shape(program.tensors[static_cast<size_t>(node.tensor)]);
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t least = node.tile.subscripts[d].offset, most = least;
    for (const auto& [digit, factor] : node.tile.subscripts[d].terms) {
      const int64_t reach = factor * (extents[static_cast<size_t>(digit)] - 1);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= shape[d]) return false;
  }
  return true;
}

}  // namespace

void require_row_major(const Program& program, TensorId tensor) {
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  std::vector<int> order(t.format.mode_order.size());
  std::iota(order.begin(), order.end(), 0);
  if (!t.format.all_dense() || t.format.mode_order != order) {
    throw Refused{fmt::format(
        "%{} is stored as {}, and kernels are generated for dense tensors in row-major order",
        t.name, to_string(t.format))};
  }
}

std::optional<int64_t> stride_along(const Program& program, const Graph& graph, const Node& node,
                                    int dim) {
  const std::vector<int64_t> by =
      pitches(known_shape(program.tensors[static_cast<size_t>(node.tensor)]));
  const std::vector<TileDigit>& digits = graph.indices[static_cast<size_t>(dim)].tiling.digits;
  const int first = first_digit(graph, dim);
  int64_t inner = 1;              // coordinates of the digits after this one
  std::optional<int64_t> stride;  // of the last digit of more than one coordinate
  for (size_t i = digits.size(); i-- > 0;) {
    if (digits[i].extent == 1) continue;
    int64_t step = 0;
    for (size_t d = 0; d < by.size(); ++d) {
      for (const auto& [digit, factor] : node.tile.subscripts[d].terms) {
        if (digit == first + static_cast<int>(i)) step += factor * by[d];
      }
    }
    if (stride && step != *stride * inner) return std::nullopt;
    if (!stride) stride = step;
    inner *= digits[i].extent;
  }
  return stride.value_or(0);
}

void choose_copy(const Program& program, const Graph& graph, Load& load, const TileDims& dims,
                 const LaunchRows& rows_of_launch) {
  const Node& node = graph.nodes[static_cast<size_t>(load.node)];
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  require_row_major(program, node.tensor);
  if (tensor.type != ElementType::f16 && tensor.type != ElementType::bf16) {
    throw Refused{fmt::format("%{} has elements of {}; products are generated for f16 and bf16",
                              tensor.name, element_name(tensor.type))};
  }
  const auto gather = [&](std::string why) {
    load.why_gathered = std::move(why);
    load.view.reset();
  };
  if (!stays_inside(program, graph, node)) {
    if (tensor.fill != 0)
      throw Refused{
          fmt::format("%{} is read outside of its extents, where it is {:g}; products "
                      "are generated for 0 there",
                      tensor.name, tensor.fill)};
    return gather("it is read outside of its extents");
  }
  int64_t offset = 0;
  const std::vector<int64_t> by = pitches(known_shape(tensor));
  for (size_t d = 0; d < by.size(); ++d) offset += node.tile.subscripts[d].offset * by[d];
  if (offset != 0) return gather("its first element is not that of the tensor");
  const auto rows = stride_along(program, graph, node, dims.row);
  const auto columns = stride_along(program, graph, node, dims.column);
  const auto batch =
      dims.batch < 0 ? std::optional<int64_t>(0) : stride_along(program, graph, node, dims.batch);
  if (!rows || !columns || !batch) return gather("several of its loops are not one in memory");
  const auto elements = [&](int dim) { return graph.indices[static_cast<size_t>(dim)].elements(); };
  for (const bool by_rows : {true, false}) {
    const int outer_dim = by_rows ? dims.row : dims.column,
              inner_dim = by_rows ? dims.column : dims.row;
    if (rows_of_launch.dim >= 0 && inner_dim == rows_of_launch.dim) continue;
    const int64_t inner_stride = by_rows ? *columns : *rows;
    int64_t pitch = by_rows ? *rows : *columns;
    if (elements(inner_dim) > 1 && inner_stride != 1) continue;
    if (elements(outer_dim) == 1) pitch = rounded_up(elements(inner_dim), kCopyAlignment / 2);
    if (pitch * 2 % kCopyAlignment != 0 || pitch == 0) continue;
    TensorView view;
    view.outer = elements(outer_dim);
    view.inner = elements(inner_dim);
    view.pitch = pitch;
    view.batches = *batch == 0 ? 1 : elements(dims.batch);
    if (rows_of_launch.dim >= 0) {
      view.outer_rows = outer_dim == rows_of_launch.dim;
      view.batch_rows = *batch != 0 && dims.batch == rows_of_launch.dim;
    }
    view.batch_pitch = *batch == 0 ? rounded_up(view.outer * pitch, kCopyAlignment / 2) : *batch;
    if (view.batch_pitch * 2 % kCopyAlignment != 0) continue;
    load.view = view;
    load.matrix.by_rows = by_rows;
    return;
  }
  const bool consecutive = *rows == 1 || *columns == 1;
  gather(consecutive ? "the copy engine needs rows of a multiple of 16 bytes"
                     : "neither rows nor columns are consecutive");
}

}  // namespace fuseflow::cuda
