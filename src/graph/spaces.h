// Spaces: which fibers a stream is nested in and who opened them. All streams of one space share
// their structure (elements, stops); a name of an index alone does not tell, since two scanners of
// different levels may run over the same index. nodes/spaces.h computes them.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensor/format.h"

namespace fuseflow {

/// What typing needs to know of a tensor.
struct GraphTensor {
  std::string name;
  Format format;
  std::vector<int64_t> shape;  ///< -1 where symbolic
  int64_t element_bytes = 4;

  /// Extent of storage level l (its dimension's; in blocks where there are blocks); -1 if unknown.
  int64_t level_extent(int l) const;
};

/// Spaces of all streams, in order of first opening. These are one space by construction: the
/// outputs of one node that hold the same fibers; below the same space, by references that are
/// never absent, counters and scans of dense levels without offset, all of one extent; alignments
/// of one space; copy k of one split; merges of one set of copies.
struct Spaces {
  struct Space {
    int parent = -1;     ///< -1 for the root space
    NodeId opener = -1;  ///< the node whose output opened it (the first one, if several are equal)
    int index = -1;      ///< into Graph::indices; -1 for the root space
    int depth = 0;       ///< number of indices
    int elements_of = -1;  ///< a space with the same elements, in other fibers (drop); -1: itself
  };

  /// Copy `copy` of the elements of a space.
  struct Split {
    int from = -1;  ///< the space that was split
    int64_t copies = 0;
    int64_t copy = 0;
    bool contiguous = false;
    bool operator==(const Split&) const = default;
  };

  std::vector<int> of_stream;  ///< position in `spaces`, by stream; -1 if it could not be computed
  std::vector<Space> spaces;
  std::map<int, Split> split_of;    ///< by space: of those that are copies
  std::vector<bool> may_be_absent;  ///< by stream: a ref that may be N
  /// By stream: the tensor and level whose positions a ref holds; -1 and -1: the root (or no ref),
  /// -1 and 0: a counter.
  std::vector<TensorId> ref_tensor;
  std::vector<int> ref_level;

  const Space& of(StreamId stream) const { return spaces[of_stream[stream]]; }
  /// The first space with the elements of this one, which may be in other fibers.
  int same_elements(int space) const {
    return spaces[space].elements_of < 0 ? space : spaces[space].elements_of;
  }
};

/// An error at a node.
using GraphError = std::function<void(NodeId node, std::string message)>;

}  // namespace fuseflow
