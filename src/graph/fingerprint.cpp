#include "graph/fingerprint.h"

#include <bit>

namespace fuseflow {

namespace {

class Hash {
 public:
  void add(int64_t value) {
    h_ ^= static_cast<uint64_t>(value);
    h_ *= 0xbf58476d1ce4e5b9ULL;
    h_ ^= h_ >> 31;
  }
  void add(float value) { add(static_cast<int64_t>(std::bit_cast<uint32_t>(value))); }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace

namespace {

void add_index(Hash& h, const GraphIndex& index) {
  for (const int64_t field : {index.extent, index.block, index.size, int64_t{index.cluster}}) {
    h.add(field);
  }
  for (const TileDigit& digit : index.digits) h.add(digit.extent);
}

void add_node(Hash& h, const Graph& graph, const Node& node) {
  h.add(static_cast<int64_t>(node.kind));
  for (const Input& input : node.inputs) {
    h.add(int64_t{input.stream});
    if (input.is_immediate()) h.add(input.immediate);
  }
  for (const StreamId out : node.outputs) {
    h.add(int64_t{out});
    if (out < 0) continue;
    const Stream& stream = graph.streams[static_cast<size_t>(out)];
    for (const int i : stream.indices) h.add(int64_t{i});
    for (const int i : stream.block) h.add(int64_t{i});
  }
  for (const int64_t field :
       {int64_t{node.tensor}, int64_t{node.level}, static_cast<int64_t>(node.op),
        static_cast<int64_t>(node.reduction), int64_t{node.order}, node.offset, node.stride,
        node.capacity, node.least, int64_t{node.phase}, int64_t{node.contiguous},
        int64_t{node.branch}}) {
    h.add(field);
  }
  if (node.other_tensor >= 0) {
    h.add(int64_t{node.other_tensor});
    h.add(int64_t{node.other_level});
  }
  h.add(node.init);
  for (const int group : node.groups) h.add(int64_t{group});
  for (const int64_t stride : node.strides) h.add(stride);
  for (const int loop : node.contract) h.add(int64_t{loop});
  for (const int64_t bytes : node.held) h.add(bytes);
  if (node.element_bytes > 0) h.add(node.element_bytes);
  for (const TileSubscript& subscript : node.subscripts) {
    h.add(subscript.offset);
    for (const auto& [digit, coefficient] : subscript.terms) {
      h.add(int64_t{digit});
      h.add(coefficient);
    }
  }
}

}  // namespace

uint64_t fingerprint(const Graph& graph) {
  Hash h;
  for (const GraphIndex& index : graph.indices) add_index(h, index);
  for (const Node& node : graph.nodes) add_node(h, graph, node);
  for (const TensorId tensor : graph.scratchpad) h.add(int64_t{tensor});
  for (const TensorId tensor : graph.resident) h.add(~int64_t{tensor});
  for (const int phase : graph.row_phases) h.add(int64_t{phase});
  if (graph.tiles) {
    for (const Dim loop : graph.tiles->loops) h.add(static_cast<int64_t>(loop));
    h.add(static_cast<int64_t>(graph.tiles->way));
    h.add(graph.tiles->element_bytes);
    if (graph.tiles->band) {
      for (const int64_t end : *graph.tiles->band) h.add(end);
    }
    for (const std::vector<TileRange>& ranges : graph.tiles->open) {
      h.add(static_cast<int64_t>(ranges.size()));
      for (const TileRange& r : ranges) h.add(r.begin), h.add(r.end);
    }
  }
  return h.value();
}

}  // namespace fuseflow
