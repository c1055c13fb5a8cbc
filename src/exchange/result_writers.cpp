#include "exchange/result_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "exchange/moves.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

int level_of(const std::vector<int>& order, int dimension) {
  return static_cast<int>(std::find(order.begin(), order.end(), dimension) - order.begin());
}

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
    order_levels(tensors);
    const std::vector<int> dimensions = dimensions_of_levels();
    follow_drops();
    std::vector<LevelKind> kinds;
    std::vector<int64_t> shape(levels_.size());
    for (size_t l = 0; l < levels_.size(); ++l) {
      const Write& level = levels_[l];
      kinds.push_back(level.format);
      shape[static_cast<size_t>(dimensions[l])] = extent_of(level);
    }
    add_nodes(tensors.add_result(name_, make_format(std::move(kinds), dimensions), shape));
  }

 private:
  /// The extent of a level as it is said, or else that of the loop, which is no larger. Sizes that
  /// are no extents are smaller; coordinates of dense levels may be repeated in another loop.
  int64_t extent_of(const Write& level) const {
    const int loop = graph_.loop_of(graph_.space_of(level.stream));
    if (loop < 0) fail("coordinates in no loop");
    const bool said = level.format == LevelKind::dense && level.extent >= 0;
    return said ? level.extent : std::max(level.extent, graph_.extent_of(loop));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(
        ExitCode::rejected,
        fmt::format("result {}: {}", name_.empty() ? "without a name" : printable(name_), message));
  }

  /// One write a level, outermost first. A level that nobody writes is dense: its coordinates are
  /// all there are.
  void order_levels(const TensorTable& tensors) {
    const int rank = graph_.depth_of(graph_.space_of(values_));
    std::vector<Write> ordered(static_cast<size_t>(rank));
    const std::vector<int> at = levels_written(tensors, rank);
    for (size_t w = 0; w < levels_.size(); ++w) {
      if (at[w] < 0 || at[w] >= rank) {
        fail(fmt::format("level {} of a result of rank {}", at[w], rank));
      }
      Write& level = ordered[static_cast<size_t>(at[w])];
      if (level.stream >= 0) fail(fmt::format("level {} is written twice", at[w]));
      level = std::move(levels_[w]);
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

  /// The level that each write is of: where the graph says how the dimensions nest it is that of
  /// its dimension, else the coordinates' depth in loops says it. Those of dense levels may be
  /// repeated for loops inside; if there is one write for each level, their order still tells.
  std::vector<int> levels_written(const TensorTable& tensors, int rank) const {
    const auto depth = [&](size_t w) {
      return graph_.depth_of(graph_.space_of(levels_[w].stream));
    };
    const auto order = tensors.written_order(name_, static_cast<size_t>(rank));
    std::vector<int> at;
    std::vector<size_t> sorted(levels_.size());
    for (size_t w = 0; w < levels_.size(); ++w) {
      sorted[w] = w;
      const int dimension = levels_[w].dimension;
      at.push_back(order && dimension >= 0 ? level_of(*order, dimension) : depth(w) - 1);
    }
    if (order || static_cast<int>(levels_.size()) != rank) return at;
    std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
      return std::pair(depth(a), levels_[a].dimension) < std::pair(depth(b), levels_[b].dimension);
    });
    for (size_t l = 0; l < sorted.size(); ++l) at[sorted[l]] = static_cast<int>(l);
    return at;
  }

  /// The dimension that each level stores, by its `mode`. Levels that say none have the dimensions
  /// that are left, in their order.
  std::vector<int> dimensions_of_levels() const {
    const auto rank = static_cast<int>(levels_.size());
    std::vector<int> dimensions;
    std::vector<bool> taken(levels_.size(), false);
    for (const Write& level : levels_) {
      dimensions.push_back(level.dimension);
      if (level.dimension < 0) continue;
      if (level.dimension >= rank) {
        fail(fmt::format("mode {} of a result of rank {}", level.dimension, rank));
      }
      if (taken[static_cast<size_t>(level.dimension)]) {
        fail(fmt::format("mode {} is written twice", level.dimension));
      }
      taken[static_cast<size_t>(level.dimension)] = true;
    }
    for (int& dimension : dimensions) {
      if (dimension >= 0) continue;
      dimension = static_cast<int>(std::find(taken.begin(), taken.end(), false) - taken.begin());
      taken[static_cast<size_t>(dimension)] = true;
    }
    return dimensions;
  }

  /// Each level's coordinates below those of the level above it, and the values beside the last.
  void follow_drops() {
    Moves moves(graph_);
    for (size_t l = 0; l + 1 < levels_.size(); ++l) {
      levels_[l + 1].stream = moves.below(levels_[l].stream, levels_[l + 1].stream);
    }
    if (!levels_.empty()) {
      values_ = moves.into_if_possible(values_, graph_.space_of(levels_.back().stream));
    }
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
