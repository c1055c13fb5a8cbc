#include "exchange/result_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// The writers of one tensor.
class Result {
 public:
  Result(GraphAssembler& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  void add(const Write& write) {
    if (!write.values) {
      levels_.push_back(write);
      return;
    }
    if (values_ >= 0) fail("its values are written twice");
    values_ = write.stream;
  }

  void write(TensorTable& tensors) {
    if (values_ < 0) fail("its values are not written");
    order_levels();
    for (size_t l = 0; l < levels_.size(); ++l) {
      StreamId& below = l + 1 < levels_.size() ? levels_[l + 1].stream : values_;
      follow_drop(levels_[l].stream, below);
    }
    std::vector<LevelKind> kinds;
    std::vector<int64_t> shape;
    for (const Write& level : levels_) {
      kinds.push_back(level.format);
      const int loop = graph_.loop_of(graph_.space_of(level.stream));
      if (loop < 0) fail("coordinates in no loop");
      shape.push_back(level.extent >= 0 ? level.extent : graph_.extent_of(loop));
    }
    add_nodes(tensors.add_result(name_, std::move(kinds), shape));
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(
        ExitCode::rejected,
        fmt::format("result {}: {}", name_.empty() ? "without a name" : printable(name_), message));
  }

  /// One write a level, outermost first. A level that nobody writes is dense: its coordinates are
  /// all there are.
  void order_levels() {
    const int rank = graph_.depth_of(graph_.space_of(values_));
    std::vector<Write> ordered(static_cast<size_t>(rank));
    for (Write& level : levels_) {
      const int at =
          level.level >= 0 ? level.level : graph_.depth_of(graph_.space_of(level.stream)) - 1;
      if (at < 0 || at >= rank) fail(fmt::format("level {} of a result of rank {}", at, rank));
      if (ordered[static_cast<size_t>(at)].stream >= 0) {
        fail(fmt::format("level {} is written twice", at));
      }
      ordered[static_cast<size_t>(at)] = std::move(level);
    }
    int space = graph_.space_of(values_);
    for (int l = rank; l-- > 0; space = graph_.parent_of(space)) {
      Write& level = ordered[static_cast<size_t>(l)];
      if (level.stream >= 0) continue;
      level.format = LevelKind::dense;
      level.stream = graph_.stream_in(space);
      if (level.stream < 0) fail(fmt::format("level {} has no coordinates", l));
    }
    levels_ = std::move(ordered);
  }

  /// Comal and SAM drop coordinates beside the values below them, which lack no token of what is
  /// dropped. Here a drop moves them to new fibers: what is written below goes through it too.
  void follow_drop(StreamId above, StreamId& below) {
    const NodeId id = graph_.producer_of(above);
    if (!is_drop(graph_.node(id))) return;
    const StreamId dropped =
        graph_.node(id).inputs[static_cast<size_t>(graph_.port_of(above))].stream;
    const int from = graph_.space_of(dropped);
    const int to = graph_.space_of(above);
    const int space = graph_.space_of(below);
    if (graph_.is_below(space, to) || !graph_.is_below(space, from)) return;
    const int moved = moved_space(id, space, from, to);
    graph_.node(id).inputs.push_back({below, 0});
    ++graph_.node(id).groups[1];
    below = graph_.give(id, graph_.kind_of(below), moved, "");
  }

  /// A drop that is well formed: one that is not the verifier refuses.
  static bool is_drop(const Node& node) {
    return node.kind == NodeKind::drop && node.groups.size() == 2 &&
           node.inputs.size() == node.outputs.size() &&
           std::none_of(node.inputs.begin(), node.inputs.end(),
                        [](const Input& input) { return input.is_immediate(); });
  }

  /// Where the drop puts a space below `from`, which becomes `to`.
  int moved_space(NodeId drop, int space, int from, int to) {
    if (space == from) return to;
    const Node& node = graph_.node(drop);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (graph_.space_of(node.inputs[i].stream) == space) {
        return graph_.space_of(node.outputs[i]);
      }
    }
    const int above = moved_space(drop, graph_.parent_of(space), from, to);
    return graph_.open(above, graph_.loop_of(space));
  }

  /// Coordinates of dense levels go to the writer of what is stored next below them.
  void add_nodes(TensorId tensor) {
    std::vector<Input> inputs;
    for (size_t l = 0; l < levels_.size(); ++l) {
      inputs.push_back({levels_[l].stream, 0});
      if (levels_[l].format == LevelKind::dense) continue;
      Node node = make_node(NodeKind::write_level, std::move(inputs));
      node.tensor = tensor;
      node.level = static_cast<int>(l);
      graph_.add(std::move(node));
      inputs.clear();
    }
    inputs.push_back({values_, 0});
    Node node = make_node(NodeKind::write_values, std::move(inputs));
    node.tensor = tensor;
    graph_.add(std::move(node));
  }

  GraphAssembler& graph_;
  std::string name_;
  std::vector<Write> levels_;
  StreamId values_ = -1;
};

}  // namespace

void add_results(GraphAssembler& graph, TensorTable& tensors, const std::vector<Write>& writes) {
  std::vector<Result> results;  // in the order of the first write
  std::map<std::string, size_t> of_tensor;
  for (const Write& write : writes) {
    const auto [found, fresh] = of_tensor.try_emplace(write.tensor, results.size());
    if (fresh) results.emplace_back(graph, write.tensor);
    results[found->second].add(write);
  }
  for (Result& result : results) result.write(tensors);
}

}  // namespace fuseflow
