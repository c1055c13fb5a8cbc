#include "chip/copies.h"

#include <array>

#include "chip/fit.h"
#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "support/ceil_div.h"

namespace fuseflow::chip {
namespace {

constexpr int64_t kCopyAlignment = 16;  ///< bytes, of pitches

/// Elements of a tensor from one coordinate of each dimension to the next.
std::vector<int64_t> pitches(const std::vector<int64_t>& shape) {
  std::vector<int64_t> by(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) by[d - 1] = by[d] * shape[d];
  return by;
}

int64_t extent_of(const Operand& of, int digit) {
  return of.digits[static_cast<size_t>(digit)];
}
int64_t elements_of(const Operand& of, const std::vector<int>& digits) {
  int64_t elements = 1;
  for (const int digit : digits) elements *= extent_of(of, digit);
  return elements;
}

/// Whether every subscript is inside of its dimension for all values of the digits.
bool stays_inside(const Operand& of) {
  for (size_t d = 0; d < of.shape.size(); ++d) {
    int64_t least = of.subscripts[d].offset, most = least;
    for (const auto& [digit, factor] : of.subscripts[d].terms) {
      const int64_t reach = factor * (extent_of(of, digit) - 1);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= of.shape[d]) return false;
  }
  return true;
}

/// Elements from one coordinate of the digits to the next, where that is one number: they are one
/// loop in memory then.
std::optional<int64_t> stride_along(const Operand& of, const std::vector<int>& digits) {
  const std::vector<int64_t> by = pitches(of.shape);
  int64_t inner = 1;              // coordinates of the digits after this one
  std::optional<int64_t> stride;  // of the last digit of more than one coordinate
  for (size_t i = digits.size(); i-- > 0;) {
    if (extent_of(of, digits[i]) == 1) continue;
    int64_t step = 0;
    for (size_t d = 0; d < by.size(); ++d) {
      for (const auto& [digit, factor] : of.subscripts[d].terms) {
        if (digit == digits[i]) step += factor * by[d];
      }
    }
    if (stride && step != *stride * inner) return std::nullopt;
    if (!stride) stride = step;
    inner *= extent_of(of, digits[i]);
  }
  return stride.value_or(0);
}

/// The tensor with rows, or columns, as what is consecutive; nothing where that is not so.
std::optional<TensorView> view_of(const Operand& of, bool by_rows, int64_t rows, int64_t columns,
                                  int64_t batch) {
  const int64_t unit = kCopyAlignment / of.element_bytes;
  TensorView view;
  view.outer = elements_of(of, by_rows ? of.rows : of.columns);
  view.inner = elements_of(of, by_rows ? of.columns : of.rows);
  view.pitch = by_rows ? rows : columns;
  if (view.inner > 1 && (by_rows ? columns : rows) != 1) return std::nullopt;
  if (view.outer == 1) view.pitch = ceil_div(view.inner, unit) * unit;
  if (view.pitch == 0 || view.pitch % unit != 0) return std::nullopt;
  view.batches = batch == 0 ? 1 : elements_of(of, of.batch);
  view.batch_pitch = batch == 0 ? ceil_div(view.outer * view.pitch, unit) * unit : batch;
  if (view.batch_pitch % unit != 0) return std::nullopt;
  return view;
}

}  // namespace

Operand operand_of(const Graph& graph, const Node& load, std::vector<int64_t> shape,
                   const TileDims& dims, Side side) {
  Operand of;
  of.shape = std::move(shape);
  of.side = side;
  of.element_bytes = moved_bytes(graph, load);
  of.subscripts = load.tile.subscripts;
  for (const GraphIndex& index : graph.indices) {
    for (const TileDigit& digit : index.tiling.digits) of.digits.push_back(digit.extent);
  }
  const auto digits = [&](int dim) {
    std::vector<int> all;
    for (int i = first_digit(graph, dim); i < first_digit(graph, dim + 1); ++i) all.push_back(i);
    return all;
  };
  of.rows = digits(dims.row);
  of.columns = digits(dims.column);
  if (dims.batch >= 0) of.batch = digits(dims.batch);
  return of;
}

Copies copies_of(const Operand& operand) {
  Copies copies;
  const bool sums_columns = operand.side == Side::left, either_way = operand.element_bytes == 2;
  copies.by_rows = either_way || sums_columns;
  const auto gathered = [&](const char* why) {
    copies.why_gathered = why;
    return copies;
  };
  copies.outside = !stays_inside(operand);
  if (copies.outside) return gathered("it is read outside of its extents");
  int64_t offset = 0;
  const std::vector<int64_t> by = pitches(operand.shape);
  for (size_t d = 0; d < by.size(); ++d) offset += operand.subscripts[d].offset * by[d];
  if (offset != 0) return gathered("its first element is not that of the tensor");
  const auto rows = stride_along(operand, operand.rows);
  const auto columns = stride_along(operand, operand.columns);
  const auto batch = stride_along(operand, operand.batch);
  if (!rows || !columns || !batch) return gathered("several of its loops are not one in memory");
  for (const bool by_rows : {true, false}) {
    if (!either_way && by_rows != sums_columns) continue;
    copies.view = view_of(operand, by_rows, *rows, *columns, *batch);
    if (!copies.view) continue;
    copies.by_rows = by_rows;
    return copies;
  }
  const bool summed = (sums_columns ? *columns : *rows) == 1;
  const bool consecutive = *rows == 1 || *columns == 1;
  if (!either_way && consecutive && !summed)
    return gathered("of elements of one or four bytes what is summed has to be consecutive");
  return gathered(consecutive ? "the copy engine needs rows of a multiple of 16 bytes"
                              : "neither rows nor columns are consecutive");
}

bool by_threads(const Operand& operand, int64_t product_bytes) {
  const bool generated = operand.element_bytes == 2 || (operand.element_bytes == product_bytes &&
                                                        product_bytes <= kMostElementBytes);
  return generated && !copies_of(operand).view;
}

void mark_by_threads(Graph& graph, const std::function<std::vector<int64_t>(TensorId)>& shape_of) {
  constexpr std::array sides{Side::left, Side::right};
  const bool packs = is_tile_kernel(graph) && gathered_step(graph) > 0;
  for (const Node& product : graph.nodes) {
    if (product.kind != NodeKind::tile_multiply || packs) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Stream& taken = graph.streams[static_cast<size_t>(product.inputs[side].stream)];
      Node& load = graph.nodes[static_cast<size_t>(taken.producer)];
      if (load.kind != NodeKind::tile_load || taken.block.size() != 2) continue;
      const int batch = batch_dim(graph);
      const bool batched = batch >= 0 && reads_along(graph, load, batch);
      const Operand operand =
          operand_of(graph, load, shape_of(load.tensor),
                     {taken.block[0], taken.block[1], batched ? batch : -1}, sides[side]);
      load.tile.by_threads = by_threads(operand, graph.tiles->element_bytes);
    }
  }
}

}  // namespace fuseflow::chip
