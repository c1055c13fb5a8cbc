#include "lower/block.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "ir/diagonal.h"
#include "ir/names.h"
#include "nodes/blocks.h"
#include "nodes/rule.h"
#include "nodes/spaces.h"
#include "support/ceil_div.h"
#include "support/defect.h"

namespace fuseflow {

namespace {

bool contains(const std::vector<int>& list, int x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

/// Collects what every access says of the indices it uses.
class LoopExtents {
 public:
  LoopExtents(const Program& program, const Region& region, const RegionIndices& indices)
      : program_(program),
        region_(region),
        indices_(indices),
        extents_(indices.indices.size(), 0),
        said_by_(indices.indices.size(), -1) {}

  std::vector<int64_t> run() {
    for (const Instance& instance : indices_.instances) {
      const Statement& statement = region_.statements[instance.statement];
      for (const Expr& expr : statement.nodes) {
        if (expr.kind != Expr::Kind::access) continue;
        std::vector<Affine> subscripts;
        for (const Subscript& subscript : expr.subscripts) {
          subscripts.push_back(substitute(subscript, instance.map));
        }
        visit(expr.tensor, subscripts);
      }
      std::vector<Affine> result;
      for (const IndexId index : statement.result_indices) result.push_back(instance.map[index]);
      visit(statement.result, result);
    }
    for (const BlockedUse& use : uses_) check(use);
    for (int64_t& extent : extents_) extent = std::max<int64_t>(extent, 1);
    return extents_;
  }

 private:
  struct BlockedUse {
    int index;
    int64_t block;
    TensorId tensor;
    int dimension;  ///< -1: the index is not the whole subscript
  };

  void visit(TensorId tensor, const std::vector<Affine>& subscripts) {
    const Format& format = program_.tensors[tensor].format;
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const int64_t block = format.block.empty() ? 1 : format.block[d];
      if (block > 1 && along_diagonal(subscripts, d)) {
        refuse(fmt::format("%{} is accessed along a diagonal",
                           quote_if_needed(program_.tensors[tensor].name)));
      }
      visit(tensor, d, block, subscripts[d]);
    }
  }

  void visit(TensorId tensor, size_t dimension, int64_t block, const Affine& subscript) {
    const Tensor& t = program_.tensors[tensor];
    if (!subscript.is_plain()) {
      if (block > 1) {
        refuse(
            fmt::format("dimension {} of %{} is blocked by {}, but accessed otherwise than by a "
                        "plain index",
                        dimension, quote_if_needed(t.name), block));
      }
      for (const auto& term : subscript.terms) uses_.push_back({term.first, 1, tensor, -1});
      return;
    }
    const RegionIndex& index = indices_.indices[subscript.plain()];
    if (block > 1 && index.extent != t.shape[dimension].value) {
      refuse(
          fmt::format("dimension {} of %{} is blocked by {}, but {} runs over {} of its {} "
                      "elements",
                      dimension, quote_if_needed(t.name), block, index.name, index.extent,
                      t.shape[dimension].value));
    }
    uses_.push_back({subscript.plain(), block, tensor, static_cast<int>(dimension)});
  }

  void check(const BlockedUse& use) {
    int64_t& extent = extents_[use.index];
    if (extent == 0) {
      extent = use.block;
      said_by_[use.index] = use.tensor;
    } else if (extent != use.block) {
      refuse(
          fmt::format("index {} runs through blocks of {} in %{} and of {} in %{}, expected the "
                      "same (1: no blocks){}",
                      indices_.indices[use.index].name, extent,
                      quote_if_needed(program_.tensors[said_by_[use.index]].name), use.block,
                      quote_if_needed(program_.tensors[use.tensor].name), advice()));
    }
  }

  /// Which formats would fit: blocks as large as another tensor has them. Empty if that is no way:
  /// the blocks of two differ, or an index is not the whole subscript.
  std::string advice() const {
    std::map<int, int64_t> wanted;
    for (const BlockedUse& use : uses_) wanted[use.index] = std::max(wanted[use.index], use.block);
    std::map<TensorId, Format> changed;
    for (const BlockedUse& use : uses_) {
      if (use.block == wanted[use.index]) continue;
      if (use.block > 1 || use.dimension < 0) return "";
      const Tensor& tensor = program_.tensors[use.tensor];
      Format& format = changed.emplace(use.tensor, tensor.format).first->second;
      if (format.block.empty()) format.block.assign(tensor.shape.size(), 1);
      format.block[use.dimension] = wanted[use.index];
    }
    std::vector<std::string> declared;
    declared.reserve(changed.size());
    for (const auto& [tensor, format] : changed) {
      declared.push_back(fmt::format("%{} as {}", quote_if_needed(program_.tensors[tensor].name),
                                     to_string(format)));
    }
    return fmt::format("; declare {}", fmt::join(declared, ", "));
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(
        ExitCode::rejected, region_.where,
        fmt::format("region @{} cannot be blocked: {}", quote_if_needed(region_.name), reason));
  }

  const Program& program_;
  const Region& region_;
  const RegionIndices& indices_;
  std::vector<BlockedUse> uses_;
  std::vector<int64_t> extents_;  ///< by region index; 0: not said yet
  std::vector<TensorId> said_by_;
};

/// Rebuilds a graph whose indices count blocks: values get their blocks, contractions, and pads.
class BlockRewriter {
 public:
  BlockRewriter(const Graph& graph, const Program& program, std::span<const GraphTensor> tensors,
                std::vector<size_t>& tags)
      : old_(graph),
        program_(program),
        tensors_(tensors),
        spaces_(compute_spaces(graph, tensors)),
        tags_(tags),
        rules_(new_, tensors),
        moved_(graph.streams.size(), -1),
        consumers_(graph.streams.size()) {
    new_.indices = graph.indices;
    new_.scratchpad = graph.scratchpad;
    new_.row_phases = graph.row_phases;
    BlockRules old_rules(old_, tensors);
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
      for (size_t port = 0; port < graph.nodes[n].outputs.size(); ++port) {
        static_cast<void>(old_rules.output(n, port));
      }
      for (const Input& input : graph.nodes[n].inputs) {
        if (!input.is_immediate()) consumers_[input.stream].push_back(n);
      }
      find_written(graph.nodes[n], old_rules);
    }
  }

  void run(Graph& graph) {
    for (id_ = 0; id_ < static_cast<NodeId>(old_.nodes.size()); ++id_) {
      Node node = old_.nodes[id_];
      for (Input& input : node.inputs) {
        if (!input.is_immediate()) input.stream = moved_[input.stream];
      }
      if (node.kind == NodeKind::map) contract(node);
      if (reduces(node.kind)) pad_reduced(node);
      if (node.kind == NodeKind::write_values) arrange_written(node);
      if (node.kind == NodeKind::accumulate) bound(node);
      add(std::move(node), old_.nodes[id_].outputs);
    }
    graph = std::move(new_);
    tags_ = std::move(new_tags_);
  }

 private:
  const GraphIndex& loop(int index) const { return old_.indices[index]; }
  bool blocked(int index) const { return loop(index).size >= 0; }
  bool cut(int index) const { return blocked(index) && loop(index).size % loop(index).block != 0; }
  const std::vector<int>& block(const Input& input) const {
    static const std::vector<int> kNone;
    return input.is_immediate() ? kNone : new_.streams[input.stream].block;
  }

  /// Which loop each level of a written tensor gets its coordinates from.
  void find_written(const Node& node, const BlockRules& old_rules) {
    if (!writes_tensor(node.kind)) return;
    const int rank = tensors_[node.tensor].format.rank();
    std::vector<int>& loops = written_[node.tensor];
    loops.resize(rank, -1);
    const bool values = node.kind == NodeKind::write_values;
    const size_t count = node.inputs.size() - (values ? 1 : 0);
    const int last = values ? rank - 1 : node.level;
    for (size_t i = 0; i < count; ++i) {
      // The loop that the coordinate counts: it may have been repeated into inner ones.
      const std::vector<int>& counted = old_rules.loops_of(node.inputs[i].stream);
      loops[last - static_cast<int>(count - 1 - i)] = counted.empty() ? -1 : counted.back();
    }
  }

  void add(Node node, const std::vector<StreamId>& outputs) {
    const auto id = static_cast<NodeId>(new_.nodes.size());
    node.outputs.clear();
    for (const StreamId output : outputs) {
      Stream stream = old_.streams[output];
      stream.producer = id;
      moved_[output] = static_cast<StreamId>(new_.streams.size());
      node.outputs.push_back(moved_[output]);
      new_.streams.push_back(std::move(stream));
    }
    new_.nodes.push_back(std::move(node));
    new_tags_.push_back(tags_[id_]);
    for (size_t port = 0; port < outputs.size(); ++port) {
      new_.streams[moved_[outputs[port]]].block = rules_.output(id, port);
    }
  }

  /// A product whose only use is a sum over a blocked loop of both operands is a matrix product.
  void contract(Node& node) {
    const StreamId output = old_.nodes[id_].outputs[0];
    if (node.op != Op::mul || consumers_[output].size() != 1) return;
    const Node& sum = old_.nodes[consumers_[output][0]];
    const bool sums =
        reduces(sum.kind) && sum.reduction == Reduction::sum && sum.inputs.back().stream == output;
    if (!sums) return;
    const int ended = ended_loop(sum);
    for (const Input& input : node.inputs) {
      if (!contains(block(input), ended)) return;
    }
    node.contract = {ended};
    for (size_t i = 0; cut(ended) && i < node.inputs.size(); ++i) {
      if (zero_padded(old_.nodes[id_].inputs[i].stream)) continue;
      node.inputs[i].stream = pad(node.inputs[i].stream, old_.nodes[id_].inputs[i].stream,
                                  block(node.inputs[i]), {ended}, 0);
    }
  }

  int ended_loop(const Node& node) const {
    const std::vector<int>& loops = old_.streams[node.inputs.back().stream].indices;
    const size_t inner = node.kind == NodeKind::reduce ? 0 : static_cast<size_t>(node.order);
    return loops[loops.size() - 1 - inner];
  }

  /// Values loaded from a tensor whose padding is 0.
  bool zero_padded(StreamId s) const {
    const Node& node = old_.nodes[old_.streams[s].producer];
    if (node.kind == NodeKind::repeat) return zero_padded(node.inputs[0].stream);
    return node.kind == NodeKind::array && program_.tensors[node.tensor].fill == 0;
  }

  /// What a reduction takes over a blocked loop: every element counts, and none beyond the end.
  void pad_reduced(Node& node) {
    const int ended = ended_loop(old_.nodes[id_]);
    const StreamId old_value = old_.nodes[id_].inputs.back().stream;
    const Node& producer = new_.nodes[new_.streams[node.inputs.back().stream].producer];
    if (!blocked(ended) || contains(producer.contract, ended)) return;
    std::vector<int> wanted = block(node.inputs.back());
    const bool lacks = !contains(wanted, ended);
    if (!lacks && !cut(ended)) return;
    if (lacks) wanted.push_back(ended);
    node.inputs.back().stream =
        pad(node.inputs.back().stream, old_value, wanted,
            cut(ended) ? std::vector<int>{ended} : std::vector<int>{}, identity(node.reduction));
  }

  /// Written blocks have the tensor's dimensions in its order.
  void arrange_written(Node& node) {
    const Format& format = tensors_[node.tensor].format;
    std::vector<int> wanted;
    for (int d = 0; d < format.rank(); ++d) {
      if (format.block.empty() || format.block[d] == 1) continue;
      const auto level = std::find(format.mode_order.begin(), format.mode_order.end(), d) -
                         format.mode_order.begin();
      wanted.push_back(written_.at(node.tensor)[static_cast<size_t>(level)]);
    }
    if (block(node.inputs.back()) == wanted) return;
    node.inputs.back().stream =
        pad(node.inputs.back().stream, old_.nodes[id_].inputs.back().stream, wanted, {}, 0);
  }

  StreamId pad(StreamId value, StreamId old_value, const std::vector<int>& wanted,
               const std::vector<int>& ends, float init) {
    Node node;
    node.kind = NodeKind::pad;
    node.init = init;
    node.phase = old_.nodes[id_].phase;
    node.inputs = {{value, 0}};
    for (const int index : ends) node.inputs.push_back({coordinates(index, old_value), 0});
    Stream stream = new_.streams[value];
    stream.producer = static_cast<NodeId>(new_.nodes.size());
    stream.port = 0;
    stream.block = wanted;
    const auto made = static_cast<StreamId>(new_.streams.size());
    node.outputs = {made};
    new_.streams.push_back(std::move(stream));
    new_.nodes.push_back(std::move(node));
    new_tags_.push_back(tags_[id_]);
    return made;
  }

  /// A stream of the coordinates of a loop around a value.
  StreamId coordinates(int index, StreamId value) const {
    int space = spaces_.of_stream[value];
    while (space >= 0 && spaces_.spaces[space].index != index) space = spaces_.spaces[space].parent;
    for (size_t s = 0; s < old_.streams.size() && space >= 0; ++s) {
      if (old_.streams[s].kind == StreamKind::crd && spaces_.of_stream[s] == space &&
          moved_[s] >= 0 && rules_.loops_of(moved_[s]) == std::vector<int>{index}) {
        return moved_[s];
      }
    }
    throw Defect(fmt::format("the blocked loop {} has no coordinates", loop(index).name));
  }

  /// The most entries that an accumulator holds: blocks now.
  void bound(Node& node) const {
    if (node.capacity == 0) return;
    const std::vector<int>& loops = old_.streams[old_.nodes[id_].inputs.back().stream].indices;
    int64_t entries = 1;
    for (size_t l = loops.size() - static_cast<size_t>(node.order); l < loops.size(); ++l) {
      if (__builtin_mul_overflow(entries, std::max<int64_t>(loop(loops[l]).extent, 1), &entries)) {
        return;
      }
    }
    node.capacity = std::min(node.capacity, entries);
  }

  const Graph& old_;
  const Program& program_;
  std::span<const GraphTensor> tensors_;
  const Spaces spaces_;
  std::vector<size_t>& tags_;
  Graph new_;
  std::vector<size_t> new_tags_;
  BlockRules rules_;
  std::vector<StreamId> moved_;  ///< by old stream
  std::vector<std::vector<NodeId>> consumers_;
  std::map<TensorId, std::vector<int>> written_;  ///< loops, by level
  NodeId id_ = 0;
};

}  // namespace

std::vector<int64_t> block_extents(const Program& program, const Region& region,
                                   const RegionIndices& indices) {
  return LoopExtents(program, region, indices).run();
}

void block_graph(Graph& graph, const Program& program, const Region& region,
                 const RegionIndices& indices, const std::vector<int>& loop_indices,
                 std::vector<size_t>& tags) {
  const std::vector<int64_t> extents = block_extents(program, region, indices);
  bool any = false;
  for (size_t loop = 0; loop < loop_indices.size(); ++loop) {
    const int r = loop_indices[loop];
    if (r < 0 || extents[r] == 1) continue;
    any = true;
    GraphIndex& index = graph.indices[loop];
    index.size = index.extent;
    index.block = extents[r];
    index.extent = ceil_div(index.size, index.block);
  }
  if (!any) return;
  const std::vector<GraphTensor> tensors = graph_tensors(program);
  const Graph old = graph;
  BlockRewriter(old, program, tensors, tags).run(graph);
}

}  // namespace fuseflow
