// What tells nodes and graphs apart, as numbers. Fingerprints (graph/fingerprint), keys of equal
// nodes (lower/graph_builder), of equal graphs (cluster/common/key) and what copies have in common
// (graph/collapse) are these numbers. Two of them are equal only where all fields are.
//
// `to` takes the numbers: number(int64_t), real(float), tensor(TensorId) and, of nodes,
// stream(StreamId).
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/node_fields.h"

namespace fuseflow {

template <Names kNames = Names::nothing, typename T, typename To>
void write_value(const T& value, To& to) {
  if constexpr (std::is_floating_point_v<T>) {
    to.real(value);
  } else if constexpr (kNames == Names::tensor && std::is_integral_v<T>) {
    to.tensor(value);
  } else if constexpr (kNames == Names::stream && std::is_integral_v<T>) {
    to.stream(value);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    to.number(static_cast<int64_t>(value));
  } else {  // a list
    to.number(static_cast<int64_t>(value.size()));
    for (const auto& each : value) write_value<kNames>(each, to);
  }
}

template <Names kNames = Names::nothing, typename To>
void write_value(const Input& input, To& to) {
  const auto& [stream, immediate] = input;
  to.stream(stream);
  if (input.is_immediate()) to.real(immediate);
}

template <Names kNames = Names::nothing, typename To>
void write_value(const TileSubscript& subscript, To& to) {
  const auto& [terms, offset] = subscript;
  to.number(static_cast<int64_t>(terms.size()));
  for (const auto& [digit, coefficient] : terms) {
    to.number(digit);
    to.number(coefficient);
  }
  to.number(offset);
}

template <Names kNames = Names::nothing, typename To>
void write_value(const TileRange& range, To& to) {
  const auto& [begin, end] = range;
  to.number(begin);
  to.number(end);
}

/// The fields in which nodes differ by `least` or more. What most nodes lack is left out: each
/// field has its number before it, and a number of no field is the end.
template <typename To>
void write_node(const Node& node, Differ least, To& to) {
  const Node& none = default_node();
  int64_t number = 0;
  for_each_field([&](const auto& row) {
    ++number;
    if (row.rule.differ < least || is_default(node, row, none)) return;
    to.number(number);
    write_value<std::remove_cvref_t<decltype(row)>::names>(value_of(node, row.member), to);
  });
  to.number(0);
}

/// By stream, its place among all streams in the order in which nodes give them. Their numbers are
/// those of the pass that made them last, and others when the graph was printed and read again.
std::vector<int64_t> places_of_streams(const Graph& graph);

/// Numbers that go to another one, streams by their places.
template <typename To>
class StreamsByPlace {
 public:
  StreamsByPlace(const Graph& graph, To& to) : to_(to), places_(places_of_streams(graph)) {}
  void number(int64_t value) { to_.number(value); }
  void real(float value) { to_.real(value); }
  void tensor(TensorId tensor) { to_.tensor(tensor); }
  void stream(StreamId stream) {
    to_.number(stream < 0 ? int64_t{stream} : places_[static_cast<size_t>(stream)]);
  }

 private:
  To& to_;
  std::vector<int64_t> places_;
};

/// Of a loop: all but its name, and those of its digits.
template <typename To>
void write_index(const GraphIndex& index, To& to) {
  const auto& [name, extent, block, size, tiling] = index;
  const auto& [cluster, digits] = tiling;
  for (const int64_t number : {extent, block, size, int64_t{cluster}}) to.number(number);
  to.number(static_cast<int64_t>(digits.size()));
  for (const auto& [digit, digit_extent] : digits) to.number(digit_extent);
}

/// Its producer and port follow from its place.
template <typename To>
void write_stream(const Stream& stream, To& to) {
  const auto& [name, kind, indices, producer, port, block] = stream;
  to.number(static_cast<int64_t>(kind));
  write_value(indices, to);
  write_value(block, to);
}

template <typename To>
void write_tiles(const TileMapping& tiles, To& to) {
  const auto& [loops, way, element_bytes, band, open] = tiles;
  write_value(loops, to);
  to.number(static_cast<int64_t>(way));
  to.number(element_bytes);
  to.number(band ? 1 : 0);
  if (band) write_value(*band, to);
  write_value(open, to);
}

/// All but names, and statements that nodes were made for.
template <typename To>
void write_graph(const Graph& graph, To& to) {
  const auto& [indices, streams, nodes, scratchpad, resident, tiles, row_phases] = graph;
  to.number(static_cast<int64_t>(indices.size()));
  for (const GraphIndex& index : indices) write_index(index, to);
  to.number(static_cast<int64_t>(nodes.size()));
  StreamsByPlace<To> by_place(graph, to);
  for (const Node& node : nodes) {
    write_node(node, Differ::among_copies, by_place);
    for (const StreamId given : node.outputs) {
      if (given >= 0) write_stream(streams[static_cast<size_t>(given)], to);
    }
  }
  write_value<Names::tensor>(scratchpad, to);
  write_value<Names::tensor>(resident, to);
  to.number(tiles ? 1 : 0);
  if (tiles) write_tiles(*tiles, to);
  write_value(row_phases, to);
}

}  // namespace fuseflow
