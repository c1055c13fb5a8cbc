// Brings streams to where drops have left coordinates. Comal and SAM drop coordinates beside the
// values that go with them, which they leave as they are; here a drop makes new fibers, and what is
// to go along with its coordinates has to go through it, too.
#pragma once

#include "exchange/graph_assembler.h"

namespace fuseflow {

class Moves {
 public:
  explicit Moves(GraphAssembler& graph) : graph_(graph) {}

  /// The stream in space `to`, which drops, filters and alignments have made out of its own: it is
  /// passed through them. -1: `to` was not made like that.
  StreamId into(StreamId stream, int to);
  /// The stream in space `to`, or the stream itself where it cannot be moved there.
  StreamId into_if_possible(StreamId stream, int to);
  /// What a drop leaves of a stream, which goes with its outer streams or its inner ones.
  StreamId dropped(NodeId drop, StreamId stream);
  /// A drop of the same elements: its streams are in the same spaces; -1: there is none.
  NodeId drop_like(StreamId outer, StreamId inner) const;
  /// The fibers `below` under the coordinates `above` of the loop around them, which may have been
  /// dropped or chosen otherwise than those that `below` is nested in.
  StreamId below(StreamId above, StreamId below);

 private:
  /// The node that made a space out of another one; -1: none did.
  NodeId maker_of(int space) const;
  int space_before(NodeId maker, int space) const;
  StreamId through(NodeId maker, StreamId stream, int from, int to);
  bool is_outer(NodeId drop, int space) const;
  int elements_of(int space) const;
  StreamId aligned(StreamId to, StreamId from, StreamId stream, int space);

  GraphAssembler& graph_;
};

}  // namespace fuseflow
