#include "estimate/row_needs.h"

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow::estimate {

namespace {

/// Most needs that a list keeps.
constexpr size_t kMostNeeds = 8;

class Finder {
 public:
  Finder(const Structure& structure, const ListedOf& listed_of)
      : s_(structure), listed_of_(listed_of) {}

  /// The needs of a node that reads stored data: through the load of the tensor's first level,
  /// which names the row.
  RowNeeds of(const Node& node) const {
    RowNeeds needs;
    needs.reads = true;
    const Node* load = &node;
    while (load->kind == NodeKind::array || load->level > 0) {
      const Column ref = canonical(load->inputs[0]);
      if (s_.column(ref).kind != ColumnInfo::Kind::stream) return needs;
      load = &s_.node(s_.graph->streams[static_cast<size_t>(ref)].producer);
      if (load->tensor != node.tensor) return needs;
    }
    of_first_level(*load, needs);
    return needs;
  }

 private:
  void of_first_level(const Node& node, RowNeeds& needs) const {
    if (node.kind == NodeKind::scan) {
      if (at_top(s_.space_of(node.inputs[0].stream))) needs.ahead = 0;
      return;
    }
    if (s_.sequential(node.outputs[0])) {
      needs.ahead = 0;
      return;
    }
    if (node.kind != NodeKind::locate || node.inputs.size() < 2) return;
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
    const auto rows = static_cast<double>(tensor.level_extent(0));
    if (rows < 1) return;
    needs.ahead = std::clamp(window(node, rows), 0.0, 1.0);
    if (needs.ahead == 1 && node.inputs.size() == 2) needs.listed = listed(node, rows);
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

  /// Rows named by the entries of a stored row of the outermost loop.
  ListedNeeds listed(const Node& node, double rows) const {
    const Column crd = canonical(node.inputs[1]);
    if (s_.column(crd).kind != ColumnInfo::Kind::stream) return {};
    const Node& scan = s_.node(s_.graph->streams[static_cast<size_t>(crd)].producer);
    if (scan.kind != NodeKind::scan || scan.level != 1 || crd != scan.outputs[0]) return {};
    const Column row = canonical(scan.inputs[0]);
    if (!s_.sequential(row) || !outermost(s_.home(row))) return {};
    ListedNeeds needs = listed_of_(scan.tensor, rows, node.stride, node.offset);
    // Loops between a row and its entries go over all of them again and again.
    if (s_.space_of(scan.inputs[0].stream) != s_.home(row)) needs.entries = needs.fibers;
    return needs;
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
  const ListedOf& listed_of_;
};

/// Adds a need after the others, and drops those between it and one before that never decide:
/// under the line between both.
void add(std::vector<RowNeed>& needs, const RowNeed& more) {
  if (!needs.empty() && needs.back().rows >= more.rows) return;
  if (!needs.empty() && needs.back().done == more.done) needs.pop_back();
  while (needs.size() > 1) {
    const RowNeed& a = needs[needs.size() - 2];
    const RowNeed& b = needs.back();
    if ((b.rows - a.rows) * (more.done - a.done) > (more.rows - a.rows) * (b.done - a.done)) break;
    needs.pop_back();
  }
  needs.push_back(more);
}

std::vector<RowNeed> thinned(const std::vector<RowNeed>& needs) {
  if (needs.size() <= kMostNeeds) return needs;
  std::vector<RowNeed> few;
  for (size_t k = 0; k < kMostNeeds; ++k) {
    few.push_back(needs[k * (needs.size() - 1) / (kMostNeeds - 1)]);
  }
  return few;
}

}  // namespace

ListedNeeds listed_needs(const Level& level, double rows, int64_t stride, int64_t offset) {
  ListedNeeds needs;
  const auto entries = static_cast<double>(level.crd.size());
  const auto fibers = static_cast<double>(level.pos.size()) - 1;
  for (size_t f = 0; f + 1 < level.pos.size(); ++f) {
    for (size_t p = level.pos[f]; p < level.pos[f + 1]; ++p) {
      const double row = static_cast<double>(stride) * static_cast<double>(level.crd[p]) +
                         static_cast<double>(offset) + 1;
      const double share = std::clamp(row / rows, 0.0, 1.0);
      add(needs.entries, {static_cast<double>(p) / entries, share});
      add(needs.fibers, {static_cast<double>(f) / fibers, share});
    }
  }
  return {thinned(needs.entries), thinned(needs.fibers), fibers};
}

std::vector<RowNeeds> row_needs(const Structure& structure, const ListedOf& listed_of) {
  const Program& program = *structure.program;
  const Graph& graph = *structure.graph;
  const Finder finder(structure, listed_of);
  std::vector<RowNeeds> result(graph.nodes.size());
  for (size_t n = 0; n < result.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.tensor < 0 || writes_tensor(node.kind)) continue;
    const Format& format = program.tensors[static_cast<size_t>(node.tensor)].format;
    const bool counted =
        node.level >= 0 && format.levels[static_cast<size_t>(node.level)] == LevelKind::dense;
    if (!counted) result[n] = finder.of(node);
  }
  return result;
}

}  // namespace fuseflow::estimate
