#include "graph/fingerprint.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace fuseflow {

namespace {

class Hash {
 public:
  void add(int64_t value) {
    h_ ^= static_cast<uint64_t>(value);
    h_ *= 0xbf58476d1ce4e5b9ULL;
    h_ ^= h_ >> 31;
  }
  /// Every NaN is one: a text does not tell them apart.
  void add(float value) {
    const float told = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    add(static_cast<int64_t>(std::bit_cast<uint32_t>(told)));
  }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace

namespace {

void add_index(Hash& h, const GraphIndex& index) {
  const auto& [name, extent, block, size, tiling] = index;
  const auto& [cluster, digits] = tiling;
  for (const int64_t field : {extent, block, size, int64_t{cluster}}) h.add(field);
  for (const TileDigit& digit : digits) h.add(digit.extent);
}

/// By stream, its place among all streams in the order in which nodes give them. Their numbers are
/// those of the pass that made them last, and others when the graph was printed and read again.
std::vector<int64_t> places_of_streams(const Graph& graph) {
  std::vector<int64_t> places(graph.streams.size(), -1);
  int64_t next = 0;
  for (const Node& node : graph.nodes) {
    for (const StreamId out : node.outputs) {
      if (out >= 0) places[static_cast<size_t>(out)] = next++;
    }
  }
  return places;
}

void add_node(Hash& h, const Graph& graph, const Node& node, const std::vector<int64_t>& places) {
  const auto place = [&](StreamId stream) {
    return stream < 0 ? int64_t{stream} : places[static_cast<size_t>(stream)];
  };
  // (By name, so that a field more does not compile. What a node was made for changes nothing.)
  const auto& [kind, inputs, outputs, tensor, level, other_tensor, other_level, op, reduction,
               order, contiguous, groups, init, offset, stride, strides, contract, capacity, least,
               phase, tile, statement] = node;
  const auto& [subscripts, branch, element_bytes, held] = tile;
  static_cast<void>(statement);
  h.add(static_cast<int64_t>(kind));
  for (const Input& input : inputs) {
    h.add(place(input.stream));
    if (input.is_immediate()) h.add(input.immediate);
  }
  for (const StreamId out : outputs) {
    h.add(place(out));
    if (out < 0) continue;
    const Stream& stream = graph.streams[static_cast<size_t>(out)];
    for (const int i : stream.indices) h.add(int64_t{i});
    for (const int i : stream.block) h.add(int64_t{i});
  }
  for (const int64_t field :
       {int64_t{tensor}, int64_t{level}, static_cast<int64_t>(op), static_cast<int64_t>(reduction),
        int64_t{order}, offset, stride, capacity, least, int64_t{phase}, int64_t{contiguous},
        int64_t{branch}}) {
    h.add(field);
  }
  // (What most nodes lack is left out of them.)
  if (other_tensor >= 0) {
    h.add(int64_t{other_tensor});
    h.add(int64_t{other_level});
  }
  h.add(init);
  for (const int group : groups) h.add(int64_t{group});
  for (const int64_t further : strides) h.add(further);
  for (const int loop : contract) h.add(int64_t{loop});
  for (const int64_t bytes : held) h.add(bytes);
  if (element_bytes > 0) h.add(element_bytes);
  for (const TileSubscript& subscript : subscripts) {
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
  const std::vector<int64_t> places = places_of_streams(graph);
  for (const Node& node : graph.nodes) add_node(h, graph, node, places);
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
