// From the operations of a ComalGraph to nodes: one rule an operation, in node_rules.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exchange/graph_assembler.h"
#include "exchange/moves.h"
#include "exchange/ports.h"
#include "exchange/tensor_table.h"

namespace fuseflow {

/// A `fiber_write` or `val_write`, until the levels of its tensor are known.
struct Write {
  std::string tensor;
  int dimension = -1;  ///< whose level it is; -1: not said
  bool values = false;
  LevelKind format = LevelKind::compressed;
  StreamId stream = -1;
  int64_t extent = -1;  ///< of the level, if it is said
};

class NodeReader {
 public:
  /// `foreign`: the graph was not written by us, so its nodes need not stay apart as they are.
  NodeReader(GraphAssembler& graph, TensorTable& tensors, bool foreign)
      : graph_(graph), tensors_(tensors), foreign_(foreign) {}

  /// Applies the rule of the operation, whose inputs have been given. Throws Error(rejected).
  void read(const comal::Operation& operation);

  const std::vector<Write>& writes() const { return writes_; }

  // For the rules.

  bool foreign() const { return foreign_; }
  GraphAssembler& graph() { return graph_; }
  Moves moves() { return Moves(graph_); }
  TensorTable& tensors() { return tensors_; }
  const comal::Extension& extension() const { return operation_->extension(); }
  [[noreturn]] void fail(const std::string& message) const;

  /// The stream that an input is connected to; `what` names the input in errors.
  StreamId take(PortKey key, const char* what) const;
  template <typename Stream>
  Input input(const Stream& stream, const char* what) const {
    return {take(key_of(stream), what), 0};
  }
  /// What the extension looks at beside the operation; -1 if it has no such input.
  StreamId looked_at(int input) const;
  /// Binds a stream of the file to one of the graph.
  void bind(PortKey key, StreamId stream);
  /// The next output of a node, of that space.
  template <typename Stream>
  StreamId give(NodeId node, StreamKind kind, int space, const Stream& stream) {
    const StreamId id = graph_.give(node, kind, space, stream.name());
    bind(key_of(stream), id);
    return id;
  }
  /// An output that has been given: the file's name for it.
  template <typename Stream>
  void give_as(StreamId id, const Stream& stream) {
    if (!stream.name().empty()) graph_.name(id, stream.name());
    bind(key_of(stream), id);
  }
  void write(Write write) { writes_.push_back(std::move(write)); }
  /// The root's reference, of one root for all that name none.
  StreamId root();
  /// A stream of the space around a stream's.
  StreamId parent_of(StreamId stream) const;

 private:
  GraphAssembler& graph_;
  TensorTable& tensors_;
  bool foreign_;
  const comal::Operation* operation_ = nullptr;
  std::map<PortKey, StreamId> streams_;
  std::vector<Write> writes_;
  StreamId root_ = -1;
};

}  // namespace fuseflow
