// Builds a Graph whose loops are found out on the way: a stream's loops follow from the node that
// gives it, and joins say which loops are one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// A node whose other fields are the defaults.
inline Node make_node(NodeKind kind, std::vector<Input> inputs = {}) {
  Node node;
  node.kind = kind;
  node.inputs = std::move(inputs);
  return node;
}

class GraphAssembler {
 public:
  static constexpr int kRootSpace = 0;

  GraphAssembler();

  /// The loop of that name, a new one for a new name and for none. Its extent becomes the largest
  /// that was said.
  int loop(const std::string& name, int64_t extent);
  /// The loop of that name has this extent, whatever else is said.
  void fix_extent(const std::string& name, int64_t extent);
  /// Two loops are one.
  void unify(int a, int b);

  /// A space directly below another (graph/spaces.h), of which nothing is known but its loop.
  int open(int parent, int loop);
  int parent_of(int space) const { return spaces_[static_cast<size_t>(space)].parent; }
  int loop_of(int space) const { return spaces_[static_cast<size_t>(space)].loop; }
  int depth_of(int space) const { return spaces_[static_cast<size_t>(space)].depth; }
  bool is_below(int space, int above) const;
  /// The loops around and of a space, outermost first.
  std::vector<int> loops_of(int space) const;
  /// A stream of the space: coordinates if there are any; -1 if there is none.
  StreamId stream_in(int space) const { return spaces_[static_cast<size_t>(space)].stream; }

  NodeId add(Node node);
  Node& node(NodeId id) { return graph_.nodes[static_cast<size_t>(id)]; }
  /// Adds a stream to those that a drop, filter or join passes on, to that group of them, and gives
  /// what is left of it, in that space.
  StreamId add_passed(NodeId node, size_t group, StreamId stream, int space);
  /// How many there are.
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes.size()); }
  /// The drop, filter or align that made a space out of another one; -1: none did.
  NodeId maker_of(int space) const { return spaces_[static_cast<size_t>(space)].maker; }
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<size_t>(id)]; }
  /// The next output of a node.
  StreamId give(NodeId node, StreamKind kind, int space, const std::string& name);
  void name(StreamId stream, const std::string& name) {
    graph_.streams[static_cast<size_t>(stream)].name = name;
  }
  StreamKind kind_of(StreamId stream) const {
    return graph_.streams[static_cast<size_t>(stream)].kind;
  }
  NodeId producer_of(StreamId stream) const {
    return graph_.streams[static_cast<size_t>(stream)].producer;
  }
  int port_of(StreamId stream) const { return graph_.streams[static_cast<size_t>(stream)].port; }
  int space_of(StreamId stream) const { return space_of_[static_cast<size_t>(stream)]; }
  int64_t extent_of(int loop) const;

  /// The graph: loops with names and extents, streams with loops and names, producers before
  /// consumers. The builder is done then.
  Graph finish();

 private:
  struct Loop {
    std::string name;
    int64_t extent = 0;
    int64_t fixed = -1;
    int same_as = -1;  ///< the loop that it was found to be; -1: itself
  };
  struct Space {
    int parent = -1;
    int loop = -1;
    int depth = 0;
    StreamId stream = -1;
    NodeId maker = -1;
  };

  int first_of(int loop) const;
  std::vector<int> number_loops();
  void sort_nodes();

  Graph graph_;
  std::vector<Loop> loops_;
  std::map<std::string, int> by_name_;
  std::vector<Space> spaces_;
  std::vector<int> space_of_;  ///< by stream
};

}  // namespace fuseflow
