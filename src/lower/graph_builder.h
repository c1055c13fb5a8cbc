// Makes the nodes of a graph: a node asked for twice is made once (equal in everything that
// distinguishes it: kind, inputs, attributes, phase), and it knows which streams may carry N. Knows
// nodes and streams, not statements.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// What a new output stream is. Most nodes that are asked for are there: nothing is copied for
/// them.
struct OutputSpec {
  StreamKind kind = StreamKind::val;
  std::span<const int> indices;  ///< of a list that lives as long as this; may be a stream's
  bool may_be_absent = false;    ///< references: N may occur
};

class GraphBuilder {
 public:
  /// `max_nodes`: more is Error(rejected).
  explicit GraphBuilder(size_t max_nodes) : max_nodes_(max_nodes) {}

  void set_phase(int phase) { phase_ = phase; }
  /// The statement that nodes made from now on belong to (the first that needs them).
  void set_origin(size_t statement) { origin_ = statement; }
  size_t origin() const { return origin_; }

  /// A loop; it gets its name with those of all phases (join_phases.h).
  int add_index(int64_t extent);
  /// Two loops that turned out to be one: nodes are shared whatever their loops are called, and
  /// joins need one name. Takes effect with settle_indices.
  void same_index(int a, int b);
  void settle_indices();
  /// Loops that same_index() made one, in pairs.
  std::vector<std::pair<int, int>> same_indices() const;
  /// Loops of other names stay apart from now on: copies and blocks belong to a loop by its name.
  void keep_names() { names_count_ = true; }
  bool names_count() const { return names_count_; }
  /// The outputs of the node, made if there is no equal one.
  std::vector<StreamId> add(Node&& node, std::span<const OutputSpec> outputs);
  std::vector<StreamId> add(Node&& node, std::initializer_list<OutputSpec> outputs) {
    return add(std::move(node), std::span(outputs.begin(), outputs.size()));
  }
  StreamId add_one(Node&& node, const OutputSpec& output);
  /// A writer: never shared.
  void add_sink(Node&& node);
  /// Throws Error(rejected) if no more than `made` nodes may be made: also of what nodes are asked
  /// for, since many may ask for the same ones.
  void check_room(size_t made) const;

  const Stream& stream(StreamId id) const { return graph_.streams[id]; }
  bool may_be_absent(StreamId id) const { return may_be_absent_[id]; }
  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  const std::vector<size_t>& origins() const { return origins_; }

 private:
  /// A node that was made, and where what distinguishes it stands.
  struct Key {
    NodeId node = -1;
    uint32_t hash = 0;
    size_t first = 0;  ///< in key_values_
    size_t count = 0;
  };

  void append_key(const Node& node, std::span<const OutputSpec> outputs);
  NodeId find_or_enter(const Node& node, std::span<const OutputSpec> outputs);
  void grow_keys();
  NodeId add_node(Node&& node, std::span<const OutputSpec> outputs);
  int representative(int index) const;
  StreamId known_reference(const Node& locate) const;
  StreamId scanned_reference(const Node& locate, StreamId crd) const;

  Graph graph_;
  std::vector<bool> may_be_absent_;
  std::vector<size_t> origins_;  ///< by node
  // Nodes that were made, by key: an open-addressed table, its size a power of two. The values of
  // all keys are in one array, since most lookups find a node and need no array of their own.
  std::vector<Key> keys_;
  std::vector<int64_t> key_values_;
  size_t keys_used_ = 0;
  std::vector<int> merged_;  ///< by index: another one that it is the same as, or itself
  size_t max_nodes_;
  bool names_count_ = false;
  int phase_ = 0;
  size_t origin_ = 0;
};

/// Inputs that are all streams.
std::vector<Input> streams_in(const std::vector<StreamId>& streams);

}  // namespace fuseflow
