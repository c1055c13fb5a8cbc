// The ids that streams get when a graph is written. A stream of Comal's has one consumer: where
// ours has several, each takes a branch of a broadcast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exchange/write_graph.h"

namespace fuseflow {

/// Connects a stream of a message.
template <typename Message>
void set_id(Message* message, uint64_t id) {
  message->mutable_id()->set_id(id);
}

class StreamIds {
 public:
  StreamIds(const Program& program, const Graph& graph, Dialect dialect);

  uint64_t fresh() { return next_++; }
  /// Ids for what a node gives; 0 where nothing names it.
  void give(const Node& node);
  /// The id that its producer gives a stream.
  uint64_t given(StreamId stream) const { return given_[at(stream)]; }
  /// The id under which the next consumer takes a stream.
  uint64_t take(StreamId stream);
  /// Not where another is written in its place.
  bool is_written(StreamId stream) const { return as_[static_cast<size_t>(stream)] == stream; }
  bool has_branches(StreamId stream) const { return uses_[at(stream)] > 1; }

  /// The outputs of a broadcast of a stream, one for each consumer.
  template <typename Bundle>
  void branch(StreamId stream, Bundle& bundle) {
    std::vector<uint64_t>& branches = branches_[at(stream)];
    for (int i = 0; i < uses_[at(stream)]; ++i) {
      set_id(bundle.add_outputs(), next_);
      branches.push_back(next_++);
    }
    given_[at(stream)] = branches.front();
    std::reverse(branches.begin(), branches.end());  // the last is taken first
  }

 private:
  size_t at(StreamId stream) const { return static_cast<size_t>(as_[static_cast<size_t>(stream)]); }
  void count_uses(const Program& program, const Graph& graph, Dialect dialect);

  std::vector<StreamId> as_;                     ///< what a stream is written as, by stream
  std::vector<int> uses_;                        ///< consumers
  std::vector<bool> named_;                      ///< some operation names it
  std::vector<uint64_t> given_;                  ///< the id that its producer gives it
  std::vector<std::vector<uint64_t>> branches_;  ///< of a broadcast's outputs: not yet taken
  uint64_t next_ = 1;
};

}  // namespace fuseflow
