#include "estimate/memory_use.h"

#include <algorithm>
#include <cmath>

#include "nodes/rule.h"
#include "tensor/format.h"

namespace fuseflow::estimate {

namespace {

class Uses {
 public:
  Uses(const Structure& structure, const Counts& counts, const MemoryTime& memory,
       const std::vector<NodeCost>& nodes)
      : s_(structure), graph_(*structure.graph), counts_(counts), memory_(memory), nodes_(nodes) {}

  MemoryUse of(size_t n, double stored_bytes) const {
    const NodeNumbers numbers = node_numbers(s_, counts_, n);
    MemoryUse use;
    use.asks = true;
    const double together = asked_together(numbers);
    use.asked = {together > 1 ? together * numbers.own.present : bursts(n),
                 stored_bytes / memory_.burst_bytes};
    if (nodes_[n].read_bytes > 0) {
      use.waited = memory_.latency * memory_.reads_in_turn(numbers.node, numbers.level);
    }
    if (nodes_[n].write_bytes > 0) use.acknowledged = memory_.latency;
    const double busy = nodes_[n].busy;
    const double port = memory_.of_port(use.asked.bursts, together);
    use.span =
        memory_.batched ? memory_.of_batches(numbers, busy) : std::max(busy, port) + use.waited;
    return use;
  }

 private:
  const SpaceCount& in_space(StreamId stream) const {
    return counts_.space[static_cast<size_t>(s_.space_of(stream))];
  }
  const Tensor& tensor(const Node& node) const {
    return s_.program->tensors[static_cast<size_t>(node.tensor)];
  }

  /// Bursts that one step asks for: a scan of a bitvector those of a fiber's position and words,
  /// which begin and end anywhere.
  double asked_together(const NodeNumbers& n) const {
    const bool words = n.node.kind == NodeKind::scan && n.level == LevelKind::bitvector;
    if (!words || n.own.present <= 0) return 1;
    return 2 + 8 * n.own.words / n.own.present / memory_.burst_bytes;
  }

  /// Whether references follow each other within each fiber: scanned there, or looked up in a dense
  /// level by coordinates that are counted there.
  bool in_a_row(StreamId ref, Column column) const {
    const int space = s_.space_of(ref);
    const bool stream = s_.column(column).kind == ColumnInfo::Kind::stream;
    if (!stream || s_.home(column) != space) return false;
    const Node& made = s_.node(graph_.streams[static_cast<size_t>(column)].producer);
    if (made.kind == NodeKind::scan) return true;
    // A constant subscript has no coordinate input.
    if (made.kind != NodeKind::locate || made.inputs.size() != 2 || made.stride > 1) return false;
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
    const bool dense = tensor.format.levels[static_cast<size_t>(made.level)] == LevelKind::dense;
    const Column crd = s_.canonical[static_cast<size_t>(made.inputs[1].stream)];
    return dense && s_.info(space).opening == Opening::counted && s_.home(crd) == space;
  }

  /// Bursts that a node asks for: its bytes in a row, but a new one where it jumps.
  double bursts(size_t n) const {
    const Node& node = graph_.nodes[n];
    const NodeCost& cost = nodes_[n];
    const NodeCount& count = counts_.node[n];
    if (writes_tensor(node.kind)) return memory_.bursts(cost.write_bytes, written_runs(node));
    if (node.kind == NodeKind::locate) return looked_up_bursts(n);
    if (node.kind != NodeKind::array) {
      return memory_.bursts(cost.read_bytes, count.present - count.successors);
    }
    return memory_.bursts(cost.read_bytes, gathered_runs(node, count.present));
  }

  /// Positions, where the reference is another than before, and what is looked up. Of a binary
  /// search each probe asks for a burst, but the last ones, which are in one; words of bit vectors
  /// are looked up in ascending order.
  double looked_up_bursts(size_t n) const {
    const Node& node = graph_.nodes[n];
    const NodeCount& count = counts_.node[n];
    const StreamId ref = node.inputs[0].stream;
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    const double entered =
        std::min(count.present, counts_.space[static_cast<size_t>(s_.home(column))].elements);
    if (count.search_steps > 0) {
      const double probes = count.probes / std::max(1.0, count.present);
      const double apart = probes + 0.5 - std::log2(std::max(1.0, memory_.burst_bytes / 4));
      return entered + (apart > 1 ? count.present * apart : entered);
    }
    const auto level = static_cast<size_t>(node.level);
    if (tensor(node).format.levels[level] != LevelKind::bitvector) {
      return memory_.bursts(nodes_[n].read_bytes, count.present);
    }
    const auto extent = static_cast<double>(tensor(node).level_extent(level));
    return entered + spread_bursts(ref, count.present, extent / 8);
  }

  /// Of n references of each fiber that ascend over so many bytes, the bursts that are distinct: of
  /// B, B (1 - (1 - 1/B)^n).
  double spread_bursts(StreamId ref, double present, double bytes) const {
    const double fibers = std::max(1.0, in_space(ref).nonempty);
    const double bursts = std::max(1.0, bytes / memory_.burst_bytes);
    return fibers * bursts * (1 - std::pow(1 - 1 / bursts, present / fibers));
  }

  /// Places where a writer goes on elsewhere than behind what it wrote last: a copy's elements are
  /// far apart if they are of the split loop, else its fibers are.
  double written_runs(const Node& node) const {
    const StreamId values = node.inputs.back().stream;
    int space = s_.space_of(values);
    const auto& splits = s_.spaces.split_of;
    const auto dealt = [&](int s) {
      const auto split = splits.find(s);
      return split != splits.end() && !split->second.contiguous;
    };
    if (dealt(space)) return in_space(values).elements;
    while (space >= 0 && !dealt(space)) space = s_.info(space).parent;
    return space >= 0 ? in_space(values).nonempty : 1;
  }

  /// Bursts that an array asks for at least: its references jump, but those that ascend within a
  /// fiber meet the burst before again.
  double gathered_runs(const Node& node, double present) const {
    const StreamId ref = node.inputs[0].stream;
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    if (s_.sequential(column)) return 1;
    const double fibers = std::max(1.0, in_space(ref).nonempty);
    if (in_a_row(ref, column)) return fibers;
    const double span = ascending_span(ref, column);
    if (span <= 0) return present;
    const auto value =
        static_cast<double>(element_bytes(tensor(node).type) * tensor(node).format.block_volume());
    return spread_bursts(ref, present, span * value);
  }

  /// Positions over which the references of a fiber ascend: those of a dense level looked up by
  /// the fiber's own coordinates, and maybe others. 0: they are in no known order.
  double ascending_span(StreamId ref, Column column) const {
    const int space = s_.space_of(ref);
    if (s_.column(column).kind != ColumnInfo::Kind::stream || s_.home(column) != space) return 0;
    const Node& made = s_.node(graph_.streams[static_cast<size_t>(column)].producer);
    if (made.kind != NodeKind::locate) return 0;
    const Format& format = s_.program->tensors[static_cast<size_t>(made.tensor)].format;
    if (format.levels[static_cast<size_t>(made.level)] != LevelKind::dense) return 0;
    for (size_t c = 1; c < made.inputs.size(); ++c) {
      const Column crd = s_.canonical[static_cast<size_t>(made.inputs[c].stream)];
      if (s_.home(crd) != space) continue;
      const int64_t stride = c == 1 ? made.stride : made.strides[c - 2];
      return static_cast<double>(s_.info(space).extent) * std::fabs(static_cast<double>(stride));
    }
    return 0;
  }

  const Structure& s_;
  const Graph& graph_;
  const Counts& counts_;
  const MemoryTime& memory_;
  const std::vector<NodeCost>& nodes_;
};

}  // namespace

std::vector<MemoryUse> memory_use(const Structure& structure, const Counts& counts,
                                  const MemoryTime& memory, const std::vector<NodeCost>& nodes,
                                  const std::vector<double>& stored_bytes) {
  const Graph& graph = *structure.graph;
  std::vector<MemoryUse> result(nodes.size());
  if (!memory.timed) return result;
  std::vector<bool> chip(structure.program->tensors.size(), false);
  for (const TensorId t : graph.scratchpad) chip[static_cast<size_t>(t)] = true;
  const Uses uses(structure, counts, memory, nodes);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const TensorId tensor = graph.nodes[n].tensor;
    if (tensor < 0 || chip[static_cast<size_t>(tensor)]) continue;
    result[n] = uses.of(n, stored_bytes[static_cast<size_t>(tensor)]);
  }
  return result;
}

}  // namespace fuseflow::estimate
