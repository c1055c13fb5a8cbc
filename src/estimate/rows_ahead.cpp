#include "estimate/rows_ahead.h"

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow::estimate {

namespace {

class RowsAhead {
 public:
  RowsAhead(const Structure& structure, const AheadOf& ahead_of)
      : s_(structure), ahead_of_(ahead_of) {}

  /// Of what reads stored data: through the load of the tensor's first level, which names the row.
  double of(const Node& node) const {
    const Node* load = &node;
    while (load->kind == NodeKind::array || load->level > 0) {
      const Column ref = canonical(load->inputs[0]);
      if (s_.column(ref).kind != ColumnInfo::Kind::stream) return 1;
      load = &s_.node(s_.graph->streams[static_cast<size_t>(ref)].producer);
      if (load->tensor != node.tensor) return 1;
    }
    return of_first_level(*load);
  }

 private:
  double of_first_level(const Node& node) const {
    if (node.kind == NodeKind::scan) return at_top(s_.space_of(node.inputs[0].stream)) ? 0 : 1;
    if (s_.sequential(node.outputs[0])) return 0;
    if (node.kind != NodeKind::locate || node.inputs.size() < 2) return 1;
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
    const auto rows = static_cast<double>(tensor.level_extent(0));
    if (rows < 1) return 1;
    const double share = node.inputs.size() == 2 ? listed(node, rows) : 1;
    return std::clamp(std::min(share, window(node, rows)), 0.0, 1.0);
  }

  bool at_top(int space) const { return s_.info(space).opening == Opening::root; }

  /// Whether a loop is a region's outermost one.
  bool outermost(int space) const {
    const int parent = s_.info(space).parent;
    return parent >= 0 && at_top(parent);
  }

  Column canonical(const Input& input) const {
    return s_.canonical[static_cast<size_t>(input.stream)];
  }

  /// Rows named by the entries of a stored row: the farthest, against the row's own place.
  double listed(const Node& node, double rows) const {
    const Column crd = canonical(node.inputs[1]);
    if (s_.column(crd).kind != ColumnInfo::Kind::stream) return 1;
    const Node& scan = s_.node(s_.graph->streams[static_cast<size_t>(crd)].producer);
    if (scan.kind != NodeKind::scan || scan.level != 1 || crd != scan.outputs[0]) return 1;
    const Column row = canonical(scan.inputs[0]);
    if (!s_.sequential(row) || !outermost(s_.home(row))) return 1;
    return ahead_of_(scan.tensor, rows, node.stride, node.offset);
  }

  /// Rows around that of the outermost loop: offset and inner loops.
  double window(const Node& node, double rows) const {
    auto farthest = static_cast<double>(node.offset);
    bool follows = false;
    for (size_t c = 1; c < node.inputs.size(); ++c) {
      const Column crd = canonical(node.inputs[c]);
      const int home = s_.home(crd);
      if (home < 0) return 1;
      const auto stride = static_cast<double>(c == 1 ? node.stride : node.strides[c - 2]);
      if (outermost(home) && stride == 1) {
        follows = true;
      } else {
        farthest += std::max(0.0, stride * static_cast<double>(s_.info(home).extent - 1));
      }
    }
    return follows ? farthest / rows : 1;
  }

  const Structure& s_;
  const AheadOf& ahead_of_;
};

}  // namespace

double coordinates_ahead(const Level& level, double rows, int64_t stride, int64_t offset) {
  const auto fibers = static_cast<double>(level.pos.size()) - 1;
  double farthest = 0;
  for (size_t f = 0; f + 1 < level.pos.size(); ++f) {
    if (level.pos[f] == level.pos[f + 1]) continue;
    const auto last = static_cast<double>(level.crd[level.pos[f + 1] - 1]);
    const double named = static_cast<double>(stride) * last + static_cast<double>(offset) + 1;
    farthest = std::max(farthest, named / rows - static_cast<double>(f + 1) / fibers);
  }
  return farthest;
}

std::vector<double> rows_ahead(const Structure& structure, const AheadOf& ahead_of) {
  const Program& program = *structure.program;
  const Graph& graph = *structure.graph;
  const RowsAhead ahead(structure, ahead_of);
  std::vector<double> result(graph.nodes.size(), -1);
  for (size_t n = 0; n < result.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.tensor < 0 || writes_tensor(node.kind)) continue;
    const Format& format = program.tensors[static_cast<size_t>(node.tensor)].format;
    const bool counted =
        node.level >= 0 && format.levels[static_cast<size_t>(node.level)] == LevelKind::dense;
    if (!counted) result[n] = ahead.of(node);
  }
  return result;
}

}  // namespace fuseflow::estimate
