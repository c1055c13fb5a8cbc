// What shapes fibers: where those of a node's outputs come from, and which of its inputs matter to
// the shape of what is nested below. A node's rule gives it to code that follows the structure of a
// graph.
#pragma once

#include "graph/graph.h"

namespace fuseflow {

/// Where the fibers of a node's outputs come from. Outputs of which nothing is said are in a space
/// of an input and have new payloads.
class FiberOrigins {
 public:
  virtual ~FiberOrigins() = default;
  /// The output has the payloads of an input, in its space or repeated in a space inside it.
  virtual void same(StreamId out, StreamId in) = 0;
  /// The node opens the fibers of a stored level, or counts.
  virtual void stored() = 0;
  /// The node makes fibers of its own, out of several or with fewer elements; `loop` counts the
  /// loops that it opens.
  virtual void computed(StreamId out, int loop) = 0;
  /// The fibers of `in`, which are below the space of stream `from`, come below that of `to`.
  virtual void moved(StreamId in, StreamId out, StreamId from, StreamId to, bool aligned) = 0;
  /// The fibers of parallel copies become one stream again.
  virtual void merged() = 0;
};

/// Which inputs shape fibers further down, or what is written, given which outputs do.
class ShapingInputs {
 public:
  virtual ~ShapingInputs() = default;
  virtual bool shapes(StreamId out) const = 0;
  virtual bool may_be_absent(StreamId ref) const = 0;
  /// Values shape nothing; adding one changes nothing.
  virtual void add(StreamId in) = 0;
};

}  // namespace fuseflow
