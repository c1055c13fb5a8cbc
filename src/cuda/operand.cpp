#include "cuda/operand.h"

#include <fmt/format.h>

#include <numeric>

#include "cuda/refuse.h"
#include "cuda/text.h"

namespace fuseflow::cuda {
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

void choose_copy(const Program& program, const Graph& graph, Load& load, const chip::TileDims& dims,
                 const LaunchRows& rows) {
  const Node& node = graph.nodes[static_cast<size_t>(load.node)];
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  require_row_major(program, node.tensor);
  if (!is_multiplied(tensor.type)) {
    throw Refused{fmt::format(
        "%{} has elements of {}; products are generated for f16, bf16, f32, f8e4m3 and f8e5m2",
        tensor.name, element_name(tensor.type))};
  }
  load.matrix.element = tensor.type;
  chip::Copies copies =
      chip::copies_of(chip::operand_of(graph, node, known_shape(tensor), dims, load.side));
  if (copies.outside && tensor.fill != 0) {
    throw Refused{
        fmt::format("%{} is read outside of its extents, where it is {:g}; products are "
                    "generated for 0 there",
                    tensor.name, tensor.fill)};
  }
  load.matrix.by_rows = copies.by_rows;
  load.why_gathered = std::move(copies.why_gathered);
  load.view = copies.view;
  if (!load.view || rows.dim < 0) return;
  if ((copies.by_rows ? dims.column : dims.row) == rows.dim) {
    load.view.reset();
    load.why_gathered = "rows whose number is known at run time are consecutive";
    return;
  }
  load.outer_rows = (copies.by_rows ? dims.row : dims.column) == rows.dim;
  load.batch_rows = load.view->batches > 1 && dims.batch == rows.dim;
}

}  // namespace fuseflow::cuda
