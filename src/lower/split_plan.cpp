#include "lower/split_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow {

namespace {

class Planner {
 public:
  Planner(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces, int space,
          bool shallow)
      : g_(graph), tensors_(tensors), spaces_(spaces), shallow_(shallow) {
    plan_.space = space;
    plan_.mode.assign(graph.nodes.size(), CopyMode::keep);
    plan_.below.assign(spaces.spaces.size(), false);
    for (size_t s = 0; s < spaces.spaces.size(); ++s) {
      int around = static_cast<int>(s);
      while (around >= 0 && around != space) around = spaces.spaces[around].parent;
      plan_.below[s] = around == space;
    }
  }

  SplitPlan run() {
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (may_copy(g_.nodes[n]) || may_write_part(g_.nodes[n])) {
        plan_.mode[n] = CopyMode::copy;
      } else if (may_merge(g_.nodes[n])) {
        plan_.mode[n] = CopyMode::merge;
      }
      plan_.any = plan_.any || plan_.mode[n] != CopyMode::keep;
      if (plan_.mode[n] != CopyMode::keep) check_crossing(g_.nodes[n]);
    }
    return std::move(plan_);
  }

 private:
  bool below(StreamId s) const { return plan_.below[spaces_.of_stream[s]]; }
  bool inside(StreamId s) const { return below(s) && spaces_.of_stream[s] != plan_.space; }
  bool from_copies(StreamId s) const {
    return plan_.mode[g_.streams[s].producer] == CopyMode::copy;
  }

  /// All it takes and gives is in the split loop, and something is nested in it (or comes from it).
  bool may_copy(const Node& node) {
    if (node.outputs.empty() || node.kind == NodeKind::root) return false;
    // What waits outside for more than one consumer keeps its place there.
    if (node.kind == NodeKind::buffer && !from_copies(node.inputs[0].stream)) return false;
    bool work = shallow_;
    bool deep = false;
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      if (!below(input.stream)) return false;
      deep = deep || inside(input.stream);
      work = work || from_copies(input.stream);
    }
    for (const StreamId s : node.outputs) {
      if (!below(s)) return false;
      deep = deep || inside(s);
    }
    plan_.deep = plan_.deep || deep;
    return work || deep;
  }

  /// A writer of values that copies give, whose places follow from coordinates alone: those of the
  /// split loop, or inside of it and from copies too, or around it.
  bool may_write_part(const Node& node) const {
    if (node.kind != NodeKind::write_values || !tensors_[node.tensor].format.all_dense()) {
      return false;
    }
    const StreamId values = node.inputs.back().stream;
    if (!below(values) || !from_copies(values)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Input& input) {
      return !inside(input.stream) || from_copies(input.stream);
    });
  }

  /// An accumulate of values nested in the split loop, which ends outside of it.
  bool may_merge(const Node& node) {
    if (node.kind != NodeKind::accumulate || node.reduction == Reduction::mean) return false;
    if (!inside(node.inputs.back().stream) || below(node.outputs[0])) return false;
    if (!from_copies(node.inputs.back().stream)) return false;
    plan_.deep = true;
    return true;
  }

  /// What copies take from outside must be a stream of the split loop itself.
  void check_crossing(const Node& node) {
    for (const Input& input : node.inputs) {
      if (input.is_immediate() || !inside(input.stream) || from_copies(input.stream)) continue;
      plan_.obstacle =
          fmt::format("a {} stream nested in it comes from a {} outside of the copies",
                      stream_kind_name(g_.streams[input.stream].kind),
                      node_kind_name(g_.nodes[g_.streams[input.stream].producer].kind));
    }
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const Spaces& spaces_;
  const bool shallow_;
  SplitPlan plan_;
};

}  // namespace

SplitPlan plan_split(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
                     int space, bool shallow) {
  return Planner(graph, tensors, spaces, space, shallow).run();
}

}  // namespace fuseflow
