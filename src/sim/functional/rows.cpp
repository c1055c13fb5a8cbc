#include "sim/functional/rows.h"

namespace fuseflow::engine {

void find_range(const Program& program, const Graph& graph, WrittenRows& rows) {
  const Node& writer = graph.nodes[static_cast<size_t>(rows.writer)];
  if (writer.kind != NodeKind::write_values || writer.inputs.size() < 2) return;
  StreamId rows_of = writer.inputs.front().stream;
  const auto producer = [&]() -> const Node& {
    return graph.nodes[static_cast<size_t>(graph.streams[static_cast<size_t>(rows_of)].producer)];
  };
  while (producer().kind == NodeKind::buffer) rows_of = producer().inputs[0].stream;
  const Node& split = producer();
  if (split.kind != NodeKind::parallelize || !split.contiguous) return;
  const Stream& own = graph.streams[static_cast<size_t>(rows_of)];
  const int64_t loop = graph.indices[static_cast<size_t>(own.indices.back())].extent;
  if (loop == 0) return;
  const auto copies = static_cast<int64_t>(split.outputs.size());
  const int64_t range = (loop + copies - 1) / copies;
  const Tensor& tensor = program.tensors[static_cast<size_t>(writer.tensor)];
  int64_t row = 1;
  for (size_t l = 1; l < tensor.format.levels.size(); ++l) row *= tensor.level_extent(l);
  rows.from = own.port * range * row;
  // The last copy's rows are those beyond the loop, too, which nobody gives.
  if (own.port + 1 < copies) rows.to = rows.from + range * row;
}

}  // namespace fuseflow::engine
