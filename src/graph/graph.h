// The dataflow graph of a region: nodes of the sparse abstract machine and typed streams between
// them. Pure data: what each kind is, is in nodes/; the text form in ir/; meaning and timing of
// each node in ir-spec/nodes.md and ir-spec/timing.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node_kinds.h"
#include "graph/tile_fields.h"
#include "ops/op.h"
#include "support/ceil_div.h"
#include "support/value_type.h"

namespace fuseflow {

using TensorId = int32_t;  ///< position in Program::tensors
using StreamId = int32_t;
using NodeId = int32_t;

enum class StreamKind : uint8_t { crd, ref, val };

/// A loop of the graph. Two streams are in the same *space* if they were opened by the same node;
/// nodes/spaces.h computes spaces, names alone do not tell.
struct GraphIndex {
  std::string name;
  int64_t extent = 0;  ///< coordinates: elements, or blocks of them
  int64_t block = 1;   ///< elements in a block
  int64_t size = -1;   ///< elements in all, where there are blocks (the last may be cut); else -1
  int64_t elements() const { return size < 0 ? extent : size; }
  TileDimension tiling = {};  ///< in graphs of tiles
};

struct Stream {
  std::string name;
  StreamKind kind = StreamKind::val;
  std::vector<int> indices;  ///< the loops it is nested in, outermost first (into Graph::indices)
  NodeId producer = -1;
  int port = 0;
  /// val: the loops over whose elements each value extends, row-major; empty: one number.
  std::vector<int> block = {};
};

/// An input of a node: a stream, or (for map) an immediate number.
struct Input {
  StreamId stream = -1;
  float immediate = 0;
  bool is_immediate() const { return stream < 0; }
};

/// A field more does not compile until it has a row in graph/node_fields.h, from which its text and
/// what tells nodes apart are made. Which kinds use it: NodeFields of their rules (nodes/rule.h).
struct Node {
  FUSEFLOW_VALUE_TYPE(Node);
  NodeKind kind = NodeKind::root;
  std::vector<Input> inputs;
  std::vector<StreamId> outputs;
  TensorId tensor = -1;
  int level = -1;  ///< of its storage
  /// What a node reads beside `tensor`: a second level (gallop), or what it stores (convert).
  TensorId other_tensor = -1;
  int other_level = -1;
  Op op = Op::add;
  Reduction reduction = Reduction::sum;
  /// accumulate: number of inner loops kept; serialize: loops inside the one that was split
  int order = 0;
  bool contiguous = false;  ///< copies own ranges of coordinates
  std::vector<int> groups;  ///< joiners: inputs per group; drop: {outer inputs, inner inputs}
  float init = 0;  ///< reductions: result of an empty fiber and start value; filter: the value
                   ///< dropped; unite, leftjoin: absent val payloads; pad: elements beyond the size
  /// scan: added to the stored coordinate that is given; what is then outside the loop's extent is
  /// not part of the fiber. locate: looks up offset + stride * c0 + strides[0] * c1 + .. for its
  /// coordinate inputs c0, c1..; out of range is absent.
  int64_t offset = 0;
  int64_t stride = 1;
  std::vector<int64_t> strides;  ///< one a further coordinate input of locate
  std::vector<int> contract;     ///< map mul: loops of the block summed over inside
  /// 0: unbounded, or none. buffer: tokens; accumulate: entries (worst case); nodes of tiles:
  /// graph/tile_fields.h.
  int64_t capacity = 0;
  /// Tokens that a buffer has to hold; a machine without room for `capacity` gives it fewer, but
  /// not less than these. 0: all of `capacity`.
  int64_t least = 0;
  int phase = 0;         ///< nodes of phase p+1 start after phase p has ended, but see row_phases
  TileFields tile = {};  ///< in graphs of tiles
  /// The result of the statement that it was made for; -1: that of the region's only statement,
  /// else not known. Says where it comes from; changes nothing.
  TensorId statement = -1;
};

/// A group of a node's inputs (Node::groups).
struct InputGroup {
  size_t first = 0;  ///< input; of joins its coordinates, which their payloads follow
  size_t size = 0;
  size_t port = 0;  ///< of joins: the output of its first payload
};
std::vector<InputGroup> groups_of(const Node& node);
/// The group that an input is in.
size_t group_of(const Node& node, size_t input);

/// Calls visit(tensor) for each tensor that a node reads or writes: none, one, or of a gallop two.
template <typename NodeType, typename Visit>
void for_tensors(NodeType& node, Visit&& visit) {
  if (node.tensor >= 0) visit(node.tensor);
  if (node.other_tensor >= 0) visit(node.other_tensor);
}

struct Graph {
  FUSEFLOW_VALUE_TYPE(Graph);
  std::vector<GraphIndex> indices;
  std::vector<Stream> streams;
  std::vector<Node>
      nodes;  ///< in topological order: a stream's producer stands before its consumers
  /// Tensors held in the scratchpad while the graph runs (their scan/locate/array/write nodes are
  /// scratchpad loads and stores); every other tensor is in memory.
  std::vector<TensorId> scratchpad;
  /// Those of `scratchpad` that an earlier region left there: they are not loaded when the graph
  /// starts.
  std::vector<TensorId> resident;
  std::optional<TileMapping> tiles;  ///< this is a graph of tiles
  /// Phases that start together with the phase before them, ascending: a load of a tensor that an
  /// earlier one of them writes (to the scratchpad) waits for the row it needs, not for the phase.
  std::vector<int> row_phases;

  /// Whether it is held in the scratchpad.
  bool on_chip(TensorId tensor) const {
    return std::find(scratchpad.begin(), scratchpad.end(), tensor) != scratchpad.end();
  }
  int phases() const { return nodes.empty() ? 0 : nodes.back().phase + 1; }
  bool starts_by_rows(int phase) const;
  /// The last of the phases that start together with `phase`.
  int last_started_with(int phase) const;
};

/// Whether this is the graph of a conversion: one node `convert`, and nothing else.
inline bool is_conversion(const Graph& graph) {
  return graph.nodes.size() == 1 && graph.nodes[0].kind == NodeKind::convert &&
         graph.indices.empty() && graph.streams.empty() && graph.scratchpad.empty();
}

/// The phase in which each tensor is written, by tensor; -1 where it is not.
std::vector<int> phases_written(const Graph& graph, size_t tensors);

/// How many nodes write the values of each tensor, by tensor: several, each of one part, where
/// copies of a loop write what is theirs.
std::vector<int> parts_written(const Graph& graph, size_t tensors);

/// By tensor: whether it is held in the scratchpad, and comes there when the graph starts.
std::vector<bool> loaded_at_start(const Graph& graph, size_t tensors);

/// Whether a graph of streams reads memory, writes it, or is loaded from it.
bool uses_memory(const Graph& graph, size_t tensors);

std::string_view stream_kind_name(StreamKind kind);  ///< "crd", "ref", "val"

/// parallelize and serialize, in turn: the copy that gets the first element of the fiber-th fiber
/// (counted from 0 over the whole stream) of the split loop; the next elements go to the next
/// copies, cyclically. The starts are spread evenly (bit-reversed fractions of the copies), so that
/// neither short fibers nor fibers that are all heavy at one end load some copies more than others.
inline int64_t first_copy(uint64_t fiber, int64_t copies) {
  uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) {
    reversed |= static_cast<uint32_t>((fiber >> bit) & 1U) << (31 - bit);
  }
  return static_cast<int64_t>((uint64_t{reversed} * static_cast<uint64_t>(copies)) >> 32);
}

/// The copy that owns a coordinate of a loop of that extent, where copies have contiguous ranges.
inline int64_t owning_copy(int64_t coordinate, int64_t extent, int64_t copies) {
  const int64_t share = ceil_div(extent, copies);
  return share == 0 ? 0 : coordinate / share;
}

/// Gives every stream without a name one from its kind and innermost index (`c_i`, `r_i`, `v_i`),
/// and makes all names different by a numeric suffix, in the order of the streams.
void name_streams(Graph& graph);

}  // namespace fuseflow
