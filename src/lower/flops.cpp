#include "lower/flops.h"

#include <algorithm>
#include <cmath>

namespace fuseflow {

namespace {

double elements_of(const Tensor& tensor) {
  double count = 1;
  for (const Extent& extent : tensor.shape)
    count *= static_cast<double>(std::max<int64_t>(extent.value, 0));
  return count;
}

/// Expected length of a fiber of `level`.
double fiber_length(const Tensor& tensor, int level, double entries) {
  const Format& format = tensor.format;
  const double density = std::min(1.0, entries / std::max(1.0, elements_of(tensor)));
  std::vector<double> positions{1};
  for (int l = 0; l <= level; ++l) {
    const auto extent = static_cast<double>(tensor.shape[format.mode_order[l]].value);
    if (format.levels[l] == LevelKind::dense) {
      positions.push_back(positions.back() * extent);
      continue;
    }
    double above = 1;
    double below = 1;
    for (int m = 0; m < format.rank(); ++m) {
      (m <= l ? above : below) *= static_cast<double>(tensor.shape[format.mode_order[m]].value);
    }
    const double occupied = above * (1 - std::pow(1 - density, below));
    positions.push_back(std::min(occupied, positions.back() * extent));
  }
  return positions[level] > 0 ? positions[level + 1] / positions[level] : 0;
}

class Lengths {
 public:
  Lengths(const Program& program, const Graph& graph)
      : program_(program), graph_(graph), count_(graph.streams.size(), 1) {
    for (const Tensor& tensor : program.tensors) entries_.push_back(estimated_entries(tensor));
  }

  void run() {
    for (const Node& node : graph_.nodes) visit(node);
  }
  std::vector<double> elements() && { return std::move(count_); }
  /// Elements and stops: a stop for each element of the space around, about.
  std::vector<double> tokens() const {
    std::vector<double> result;
    for (size_t s = 0; s < count_.size(); ++s) {
      const bool nested = !graph_.streams[s].indices.empty();
      result.push_back(count_[s] + (nested ? fibers_of(static_cast<StreamId>(s)) : 0));
    }
    return result;
  }
  const std::vector<double>& entries() const { return entries_; }

 private:
  double in(const Node& node, size_t i) const {
    return node.inputs[i].is_immediate() ? 0 : count_[node.inputs[i].stream];
  }
  double extent_of(StreamId s) const {
    const auto& indices = graph_.streams[s].indices;
    return indices.empty()
               ? 1
               : static_cast<double>(std::max<int64_t>(graph_.indices[indices.back()].extent, 1));
  }

  void visit(const Node& node) {
    double count = node.inputs.empty() ? 1 : in(node, 0);
    switch (node.kind) {
      case NodeKind::scan:
        count *= node.tensor < 0 ? extent_of(node.outputs[0])
                                 : fiber_length(program_.tensors[node.tensor], node.level,
                                                entries_[node.tensor]);
        break;
      case NodeKind::repeat:
        count = in(node, 1);
        break;
      case NodeKind::intersect:
      case NodeKind::unite:
        count = joined(node);
        break;
      case NodeKind::map:
        for (size_t i = 0; i < node.inputs.size(); ++i) count = std::max(count, in(node, i));
        break;
      case NodeKind::align:
        count = in(node, 2) * std::min(1.0, in(node, 0) / std::max(1.0, in(node, 1)));
        break;
      case NodeKind::accumulate:
        return accumulate(node);
      case NodeKind::write_values:
        // Later phases read what this one writes.
        entries_[node.tensor] = std::min(entries_[node.tensor], in(node, node.inputs.size() - 1));
        return;
      case NodeKind::drop:
        for (size_t i = 0; i < node.outputs.size(); ++i) count_[node.outputs[i]] = in(node, i);
        return;
      default:
        break;
    }
    for (const StreamId s : node.outputs) count_[s] = count;
  }

  /// Coordinates present in all (intersect) or any (unite) group, each spread evenly.
  double joined(const Node& node) const {
    const double extent = extent_of(node.outputs[0]);
    double most = 0;
    std::vector<double> lengths;
    size_t at = 0;
    for (const int group : node.groups) {
      lengths.push_back(in(node, at));
      most = std::max(most, lengths.back());
      at += static_cast<size_t>(group);
    }
    const double fibers = std::max(1.0, fibers_of(node.inputs[0].stream));
    double chance = node.kind == NodeKind::intersect ? 1 : 0;
    for (const double length : lengths) {
      const double p = std::min(1.0, length / (fibers * extent));
      chance = node.kind == NodeKind::intersect ? chance * p : 1 - (1 - chance) * (1 - p);
    }
    return chance * fibers * extent;
  }

  /// Elements of the space around a stream, by following the producer's outer input.
  double fibers_of(StreamId s) const {
    const Node& node = graph_.nodes[graph_.streams[s].producer];
    if (node.kind == NodeKind::scan) return in(node, 0);
    if (node.kind == NodeKind::accumulate) {
      return node.outputs[0] == s ? in(node, 0) : count_[node.outputs[0]];
    }
    if (node.inputs.empty() || node.inputs[0].is_immediate()) return 1;
    return fibers_of(node.inputs[0].stream);
  }

  void accumulate(const Node& node) {
    const double parents = std::max(1.0, in(node, 0));
    const double rounds = in(node, 1) / parents;
    double outer = parents;
    double outer_in = in(node, 1);
    for (size_t j = 0; j + 1 < node.outputs.size(); ++j) {
      const double extent = extent_of(node.outputs[j]);
      const double p = std::min(1.0, in(node, j + 2) / std::max(1.0, outer_in * extent));
      const double merged = j == 0 ? 1 - std::pow(1 - p, std::max(rounds, 0.0)) : p;
      outer_in = in(node, j + 2);
      outer *= extent * merged;
      count_[node.outputs[j]] = outer;
    }
    count_[node.outputs.back()] = outer;
  }

  const Program& program_;
  const Graph& graph_;
  std::vector<double> count_;
  std::vector<double> entries_;  ///< by tensor
};

bool uses_tensor(NodeKind kind) {
  return kind == NodeKind::scan || kind == NodeKind::locate || kind == NodeKind::array ||
         kind == NodeKind::write_level || kind == NodeKind::write_values;
}

/// Steps of a node: tokens of its longest stream; an accumulator takes and gives in turn.
double steps_of(const Node& node, const std::vector<double>& tokens) {
  double in = 0;
  double out = 0;
  for (const Input& input : node.inputs) {
    if (!input.is_immediate()) in = std::max(in, tokens[input.stream]);
  }
  for (const StreamId output : node.outputs) out = std::max(out, tokens[output]);
  return node.kind == NodeKind::accumulate ? in + out : std::max(in, out);
}

/// Of a phase that starts by rows: whether a node reads rows in the order of its outermost loop.
bool reads_in_order(const Graph& graph, const Node& node, int first_level_depth) {
  return node.outputs.empty() || first_level_depth <= 1 ||
         graph.streams[node.outputs[0]].indices.size() <= 1;
}

}  // namespace

double estimated_entries(const Tensor& tensor) {
  if (tensor.source.nnz) return static_cast<double>(*tensor.source.nnz);
  for (const auto& [key, value] : tensor.source.params) {
    if (key == "density") return elements_of(tensor) * std::strtod(value.c_str(), nullptr);
  }
  return elements_of(tensor);
}

std::vector<double> estimated_elements(const Program& program, const Graph& graph) {
  Lengths lengths(program, graph);
  lengths.run();
  return std::move(lengths).elements();
}

GraphCost estimated_cost(const Program& program, const Graph& graph) {
  Lengths lengths(program, graph);
  lengths.run();
  const std::vector<double> tokens = lengths.tokens();
  const std::vector<int> written = phases_written(graph, program.tensors.size());
  const auto phases = static_cast<size_t>(graph.phases());
  std::vector<double> busiest(phases, 0);
  std::vector<double> starts(phases, 0);
  std::vector<double> ends(phases, 0);
  // Loops around the first level of each tensor that the graph reads: 1, if it is walked in order.
  std::vector<int> depth(program.tensors.size(), 0);
  std::vector<bool> chip(program.tensors.size(), false);
  for (const TensorId t : graph.scratchpad) chip[t] = true;
  GraphCost cost;
  for (const double count : tokens) cost.tokens += count;
  double end = 0;       // of all phases so far
  double together = 0;  // start of the phases that start together
  int phase = -1;
  for (const Node& node : graph.nodes) {
    const auto p = static_cast<size_t>(node.phase);
    if (node.phase != phase) {
      if (!graph.starts_by_rows(node.phase)) together = end;
      starts[p] = together;
      phase = node.phase;
      std::fill(depth.begin(), depth.end(), 0);
    }
    busiest[p] = std::max(busiest[p], steps_of(node, tokens));
    if (uses_tensor(node.kind) && node.tensor >= 0) {
      const bool value = node.kind == NodeKind::array || node.kind == NodeKind::write_values;
      const bool stored =
          value || program.tensors[node.tensor].format.levels[node.level] != LevelKind::dense;
      const StreamId main = node.outputs.empty() ? node.inputs.back().stream : node.outputs[0];
      if (stored && !chip[node.tensor]) cost.dram_bytes += 4 * tokens[main];
      const bool reads = !node.outputs.empty();
      const auto loops = static_cast<int>(graph.streams[main].indices.size());
      if (reads && node.level == 0) depth[node.tensor] = std::max(depth[node.tensor], loops);
      if (reads && written[node.tensor] >= 0 && written[node.tensor] < node.phase) {
        const auto w = static_cast<size_t>(written[node.tensor]);
        const bool ordered = reads_in_order(graph, node, depth[node.tensor]);
        starts[p] = std::max(starts[p], ordered ? starts[w] : ends[w]);
        ends[p] = std::max(ends[p], ends[w]);
      }
    }
    ends[p] = std::max(ends[p], starts[p] + busiest[p]);
    end = std::max(end, ends[p]);
  }
  cost.steps = end;
  return cost;
}

std::vector<double> estimated_flops(const Program& program, const Graph& graph) {
  const std::vector<double> count = estimated_elements(program, graph);
  std::vector<double> flops;
  for (const Node& node : graph.nodes) {
    double value = 0;
    if (node.kind == NodeKind::map) value = count[node.outputs[0]] * op_info(node.op).flops;
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::accumulate) {
      value = count[node.inputs.back().stream];
    }
    flops.push_back(value);
  }
  return flops;
}

}  // namespace fuseflow
