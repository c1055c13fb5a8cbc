// Structural numbers: how many elements, stops and fibers streams have, what a node meets, finds
// and stores; and what the rules of node kinds make of them. They are doubles, since they may be
// expectations. Who asks fills them: from a run, from data, or from statistics.
#pragma once

#include <span>

#include "graph/spaces.h"
#include "tensor/format.h"

namespace fuseflow {

/// What all streams of a space have.
struct SpaceCount {
  double elements = 1;
  double stops = 0;
  double nonempty = 0;  ///< fibers of the space that have elements
  double tokens() const { return elements + stops + 1; }
};

/// What does not follow from spaces.
struct NodeCount {
  double present = 0;       ///< scan, locate, array: references that are not N; gallop: pairs
  double successors = 0;    ///< scan, locate, gallop: references right after the one before
  double probes = 0;        ///< locate in a compressed level: of the binary searches
  double search_steps = 0;  ///< of those searches, beyond the one step for each token
  double met = 0;           ///< joins: coordinates met
  double looks = 0;         ///< gallop: steps that look at coordinates
  double looked_at = 0;     ///< gallop: coordinates read in them
  double jumps = 0;         ///< gallop: searches that pass two positions or more
  double passed = 0;        ///< gallop: positions that these pass
  double silent_words = 0;  ///< joins by words: words of the level that give no coordinate
  double words = 0;         ///< scan of a bitvector: words read
  double fibers = 0;        ///< write_level: fibers of the stored level
  double stored = 0;        ///< writers: coordinates or values stored
};

/// The numbers around one node.
struct NodeNumbers {
  const Graph& graph;
  const Spaces& spaces;
  std::span<const SpaceCount> space;  ///< by space
  const Node& node;
  const NodeCount& own;
  LevelKind level = LevelKind::dense;  ///< that the node reads or writes
  double value_bytes = 0;              ///< of its tensor: of a block, where it has blocks

  const SpaceCount& of(StreamId stream) const { return space[spaces.of_stream[stream]]; }
  const SpaceCount& input(size_t i) const { return of(node.inputs[i].stream); }
  const SpaceCount& output(size_t i) const { return of(node.outputs[i]); }
  const SpaceCount& last_input() const { return input(node.inputs.size() - 1); }
  /// The first input that is a stream.
  const SpaceCount& operands() const;
};

/// Steps by what they cost.
struct StepCounts {
  double steps = 0;          ///< at the interval of the node's unit
  double searched = 0;       ///< of binary searches, at the interval: none if out of range
  double free = 0;           ///< at no cost
  double stops = 0;          ///< of writers: at the interval, or at no cost, as the machine says
  double outer_stops = 0;    ///< of accumulators: at the interval, on machines that take them apart
  double flushed = 0;        ///< of flushes: at the machine's drain interval
  double least_flushed = 0;  ///< ... those that are sure, for a lower bound
};

struct ByteCounts {
  double read = 0;
  double write = 0;
};

/// An average fiber: its length, and the share of fibers that have elements.
struct Fiber {
  double length = 0;
  double nonempty = 0;
};

/// A fiber of `length` expected entries among `whole`: Poisson says how often it has any.
Fiber expected_fiber(double length, double whole);

/// What the average fiber that a node makes follows from.
class FiberNumbers {
 public:
  virtual ~FiberNumbers() = default;
  /// The average fiber of the space of an input.
  virtual Fiber input(size_t i) const = 0;
  /// gallop: of the first or second of the levels that it reads, below the references.
  virtual Fiber stored(size_t which) = 0;
  /// The extent of the loop that is opened.
  virtual double whole() const = 0;
  /// accumulate: the union, over the loop that ends, of the fibers of one of the loops inside it.
  virtual Fiber united(int loop) = 0;
  /// filter: the share of values that are kept.
  virtual double kept() const = 0;
};

/// Expected elements of a stream and of the space around it, where only numbers of entries are
/// known.
struct Elements {
  double count = 1;
  double fibers = 1;
};

class ElementNumbers {
 public:
  virtual ~ElementNumbers() = default;
  /// The elements of an input; of a number as input none.
  virtual Elements input(size_t i) const = 0;
  /// The extent of the innermost loop of an output.
  virtual double extent(size_t port) const = 0;
  /// The length of a fiber of the level that the node reads (gallop: the first or second one).
  virtual double stored_length(size_t which = 0) const = 0;
};

}  // namespace fuseflow
