#include "lower/flops.h"

#include <algorithm>
#include <cmath>

#include "ir/elements.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

/// Expected length of a fiber of `level`.
double fiber_length(const Tensor& tensor, int level, double entries) {
  const Format& format = tensor.format;
  const double density = std::min(1.0, entries / std::max(1.0, elements_of(tensor)));
  double parents = 1;    // positions of the level before
  double positions = 1;  // of this one
  for (int l = 0; l <= level; ++l) {
    parents = positions;
    const auto extent = static_cast<double>(tensor.shape[format.mode_order[l]].value);
    if (format.levels[l] == LevelKind::dense) {
      positions *= extent;
      continue;
    }
    double above = 1;
    double below = 1;
    for (int m = 0; m < format.rank(); ++m) {
      (m <= l ? above : below) *= static_cast<double>(tensor.shape[format.mode_order[m]].value);
    }
    const double occupied = above * (1 - std::pow(1 - density, below));
    positions = std::min(occupied, positions * extent);
  }
  return parents > 0 ? positions / parents : 0;
}

class Lengths final : private ElementNumbers {
 public:
  Lengths(const Program& program, const Graph& graph)
      : program_(program), graph_(graph), streams_(graph.streams.size()) {
    for (const Tensor& tensor : program.tensors) entries_.push_back(estimated_entries(tensor));
  }

  void run() {
    std::vector<Elements> given;
    const std::vector<double> stored = entries_;
    std::vector<double> written(entries_.size(), 0);
    for (const Node& node : graph_.nodes) {
      node_ = &node;
      given.assign(node.outputs.size(), {});
      node_rule(node.kind).elements(node, *this, given);
      for (size_t port = 0; port < given.size(); ++port) streams_[node.outputs[port]] = given[port];
      if (node.kind != NodeKind::write_values) continue;
      // Later phases read what this one writes, all parts of it.
      double& total = written[node.tensor];
      total += input(node.inputs.size() - 1).count;
      entries_[node.tensor] = std::min(stored[node.tensor], total);
    }
  }
  std::vector<double> elements() const {
    std::vector<double> result;
    for (const Elements& stream : streams_) result.push_back(stream.count);
    return result;
  }
  /// Elements and stops: a stop for each element of the space around, about.
  std::vector<double> tokens() const {
    std::vector<double> result;
    for (size_t s = 0; s < streams_.size(); ++s) {
      const bool nested = !graph_.streams[s].indices.empty();
      result.push_back(streams_[s].count + (nested ? streams_[s].fibers : 0));
    }
    return result;
  }

 private:
  Elements input(size_t i) const override {
    const Input& in = node_->inputs[i];
    return in.is_immediate() ? Elements{.count = 0} : streams_[in.stream];
  }
  double extent(size_t port) const override {
    const std::vector<int>& indices = graph_.streams[node_->outputs[port]].indices;
    if (indices.empty()) return 1;
    return static_cast<double>(std::max<int64_t>(graph_.indices[indices.back()].extent, 1));
  }
  double stored_length(size_t which) const override {
    const TensorId tensor = which == 0 ? node_->tensor : node_->other_tensor;
    const int level = which == 0 ? node_->level : node_->other_level;
    return fiber_length(program_.tensors[tensor], level, entries_[tensor]);
  }

  const Program& program_;
  const Graph& graph_;
  std::vector<Elements> streams_;
  const Node* node_ = nullptr;   ///< the node at hand
  std::vector<double> entries_;  ///< by tensor
};

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

/// Whether a node of a phase that starts by rows reads rows in the order of its outermost loop.
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
  return lengths.elements();
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
    if (node.tensor >= 0) {
      const bool stored =
          !node_rule(node.kind).fields->level ||
          program.tensors[node.tensor].format.levels[node.level] != LevelKind::dense;
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
  const auto elements = [&](StreamId stream) { return stream < 0 ? 0 : count[stream]; };
  std::vector<double> flops;
  for (const Node& node : graph.nodes) {
    const double taken = node.inputs.empty() ? 0 : elements(node.inputs.back().stream);
    const double given = node.outputs.empty() ? 0 : elements(node.outputs.back());
    flops.push_back(node_rule(node.kind).flops(graph, node, taken, given));
  }
  return flops;
}

namespace {

/// Entries of a storage level, or of the values for the level after the last: no more than its
/// coordinates, nor than the tensor's entries.
double entries_at(const Tensor& tensor, size_t level) {
  double all = 1;
  for (size_t l = 0; l <= level && l < tensor.format.levels.size(); ++l) {
    all *= static_cast<double>(std::max<int64_t>(tensor.level_extent(l), 1));
  }
  return std::min(all, estimated_entries(tensor));
}

}  // namespace

std::vector<double> estimated_reads(const Program& program, const Graph& graph) {
  const std::vector<double> elements = estimated_elements(program, graph);
  std::vector<std::vector<double>> by_level(program.tensors.size());
  for (const Node& node : graph.nodes) {
    if (node.tensor < 0 || node.outputs.empty()) continue;
    const Format& format = program.tensors[node.tensor].format;
    const bool values = !node_rule(node.kind).fields->level;
    if (!values && format.levels[static_cast<size_t>(node.level)] == LevelKind::dense) continue;
    std::vector<double>& levels = by_level[static_cast<size_t>(node.tensor)];
    levels.resize(format.levels.size() + 1);
    levels[values ? format.levels.size() : static_cast<size_t>(node.level)] +=
        elements[static_cast<size_t>(node.outputs[0])];
  }
  std::vector<double> reads(program.tensors.size(), 0);
  for (size_t t = 0; t < reads.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    for (size_t level = 0; level < by_level[t].size(); ++level) {
      const double times = by_level[t][level] / std::max(1.0, entries_at(tensor, level));
      reads[t] = std::max(reads[t], times * std::max(1.0, estimated_entries(tensor)));
    }
  }
  return reads;
}

}  // namespace fuseflow
