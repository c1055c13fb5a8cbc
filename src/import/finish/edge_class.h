// Edges in a draft: which dimensions and indices run over one list of edges, which statements
// compute for each edge from what their ends have, and whether that pays as work on a sparse
// matrix.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "import/finish/edge_ends.h"

namespace fuseflow {

/// A tensor with an element (or a row) for each edge that depends on what the ends have.
struct EdgeValue {
  size_t dim = 0;      ///< which dimension runs over the edges
  uint32_t lists = 0;  ///< bits: the ends that it depends on
  bool data = false;   ///< depends on what only edges have, too
  bool by_node() const { return !data && (lists & (lists - 1)) == 0; }
};

/// A statement that reads or makes such a tensor.
struct EdgeStatement {
  enum class Kind {
    gather,
    edgewise,  ///< makes an edge's value
    scatter,
    whole  ///< reduces over all edges
  };
  Kind kind = Kind::edgewise;
  IndexId edge = -1;
  int list = -1;           ///< gather, scatter: which end
  IndexId node = -1;       ///< gather, scatter: the index of that end
  int32_t reduction = -1;  ///< all but edgewise: the node that reduces
};

/// What runs over one list of edges.
struct EdgeClass {
  std::vector<EdgeEnds> lists;  ///< the ends that differ; the one that most scatters write is first
  std::map<size_t, EdgeStatement> statements;  ///< by number in the draft
  std::map<TensorId, EdgeValue> values;
  int64_t edges = 0;
};

/// The classes that can be computed on a matrix, in the order of their first statements.
std::vector<EdgeClass> edge_classes(const DraftProgram& draft);

/// What each node of a statement of the class reads.
enum class EdgeReads : uint8_t {
  nothing,    ///< constants, weights, what nodes have by other indices
  edge_data,  ///< what only edges have
  values      ///< a value of the class
};
std::vector<EdgeReads> edge_reads(const Statement& statement, const EdgeClass& edges, IndexId edge);

/// Whether fewer elements are visited on the matrix than edge by edge, by a tenth or more.
bool pays(const DraftProgram& draft, const EdgeClass& edges);

}  // namespace fuseflow
