// From expressions to nodes, given an order of the region's indices. Loops are opened outermost
// first, each once for all operands that take part in it (presence decides how they join); a
// reduction whose own loop comes first is computed as a nest of its own under the loops that are
// open, and its result takes part as a stream. Values and references that do not depend on the
// innermost loops are made where they are known and repeated.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "lower/expression.h"
#include "lower/graph_builder.h"
#include "lower/in_scratchpad.h"
#include "lower/join_places.h"
#include "lower/node_values.h"

namespace fuseflow {

/// A stream nested below a space: one coordinate stream a loop, and the values.
struct StreamTensor {
  std::vector<int> indices;  ///< region indices, outermost first
  std::vector<StreamId> crds;
  std::vector<bool> complete;  ///< the fiber at this loop has every coordinate, always
  Input value;                 ///< a stream in the innermost loop, or a number
};

struct Context {
  int space = 0;
  std::vector<int> bound;  ///< region indices that loops in scope have bound, ascending
};

class Emitter {
 public:
  Emitter(const Program& program, const RegionIndices& indices, const Expressions& expressions,
          const std::vector<int>& order, const HeldTensors& held, GraphBuilder& builder);

  /// Starts a phase: its own root, nothing shared with earlier phases.
  void begin_phase(int phase);
  /// A node's value over all of its free indices. `everywhere`: visit every coordinate.
  StreamTensor emit_root(int node, const std::vector<int>& indices, bool everywhere);
  /// Moves streams below `from` to the coordinates `to` (of the same enclosing space).
  StreamId align(StreamId to, StreamId from, StreamId inner);
  /// Where stored levels were joined, each once.
  const std::vector<JoinPlace>& join_places() const { return join_places_; }
  /// The graph's loop of each region index, by how often it is in scope around that; (-1, 0): the
  /// loop of a single iteration.
  const std::map<std::pair<int, int>, int>& loops() const { return graph_indices_; }
  /// Spaces of the phase so far.
  size_t spaces() const { return spaces_.size(); }
  /// A value as a stream in the innermost space of `tensor`.
  StreamId as_stream(const StreamTensor& tensor);

 private:
  friend class LoopOpener;

  /// A loop opened under another one. All streams that one of its nodes gives have its structure.
  struct Space {
    int parent = -1;
    int index = -1;     ///< region index
    int loop = -1;      ///< graph index
    StreamId crd = -1;  ///< the root's reference for the root space
    bool complete = false;
    std::map<std::pair<int, int>, StreamId> refs;  ///< (view, levels bound) -> reference
    std::map<int, StreamTensor> streams;           ///< reductions that came in as streams: the rest
  };

  const ExprNode& node(int n) const { return expressions_.nodes[n]; }
  std::vector<int> unbound(int n, const Context& context) const;
  std::vector<int> sorted(std::vector<int> indices) const;
  const std::vector<int>& loops_of(int space) const;  ///< graph indices, outermost first
  int home_of(const std::vector<int>& free, int space) const;
  int graph_index(int index, int parent);
  int space_of(StreamId crd, int parent, int index);

  StreamTensor emit(int n, Context context, const std::vector<int>& loops,
                    const std::vector<bool>& everywhere);
  Input value(int n, int space);
  Input make_value(int n, int space);
  const StreamTensor& reduction(int n, const Context& context);
  StreamTensor make_reduction(int n, const Context& context);
  StreamTensor filtered(int n, const Context& context, int index);
  StreamTensor finish_reduction(int n, int space, StreamTensor body);
  bool complete_after(const StreamTensor& body, size_t over, size_t loop) const;
  Input coordinate_value(const Affine& affine, int space);
  StreamId reference(int view, int levels, int space);
  StreamId locate(int view, int level, int space);
  StreamId repeat_to(StreamId stream, int from, int to);
  StreamId repeat_once(StreamId stream, int to);
  StreamId coordinate_stream(int index, int space);
  bool identity_fill(const ExprNode& reduce) const;
  float start_of(const ExprNode& reduce) const;

  const Program& program_;
  const RegionIndices& indices_;
  const Expressions& expressions_;
  const HeldTensors& held_;
  std::vector<int> rank_;  ///< position of each region index in the order
  GraphBuilder& builder_;
  std::vector<int64_t> extents_;

  std::vector<const Join*> joins_;  ///< of the schedule, by region index; null: none
  std::vector<JoinPlace> join_places_;

  std::vector<Space> spaces_;                                   ///< of this phase; 0 is the root
  std::map<std::tuple<StreamId, int, int>, int> space_by_crd_;  ///< (coordinates, parent, index)
  std::map<std::pair<StreamId, int64_t>, StreamId> complete_;   ///< (around, extent or index)
  std::map<std::pair<int, int>, Input> values_;                 ///< (node, home space)
  std::map<std::tuple<int, int, std::vector<int>>, StreamTensor> reductions_;
  std::map<std::pair<int, int>, int> graph_indices_;  ///< (region index, how often in scope)
  NodeValues::Pool formulas_known_;                   ///< for LoopOpener
};

}  // namespace fuseflow
