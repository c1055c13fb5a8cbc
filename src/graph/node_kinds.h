// The kinds of nodes, a row each. What each takes, gives and means: ir-spec/nodes.md; of those for
// tiles: ir-spec/cluster.md. Each has a rule (nodes/KIND.cpp, or the file named in its row); those
// of streams have code that runs them in each executor.
#pragma once

#include <cstdint>

namespace fuseflow {

/// Nodes on streams.
#define FUSEFLOW_STREAM_KINDS(ROW)                                                           \
  ROW(root)            /* the reference 0, where a phase starts */                           \
  ROW(scan)            /* the fiber below each reference; without a tensor (-1) a counter */ \
  ROW(locate)          /* where a coordinate is in a level */                                \
  ROW(repeat)          /* the token of an outer loop once for each inner element */          \
  ROW(intersect)       /* coordinates that all groups have (join.cpp) */                     \
  ROW(intersect_words) /* the same, a word of bitvector levels at a time (join.cpp) */       \
  ROW(gallop)          /* coordinates that two compressed levels have, by search */          \
  ROW(unite)           /* coordinates that any group has (join.cpp) */                       \
  ROW(leftjoin)        /* coordinates of the first group (join.cpp) */                       \
  ROW(array)           /* the stored value at a reference */                                 \
  ROW(map)             /* an operator */                                                     \
  ROW(coordinate)      /* a coordinate as a number */                                        \
  ROW(reduce)          /* one value for each fiber */                                        \
  ROW(accumulate)      /* sums over a loop, keeping `order` loops inside it */               \
  ROW(align)           /* fibers under other coordinates of their loop */                    \
  ROW(drop)            /* without outer elements whose inner fiber is empty */               \
  ROW(filter)          /* without elements whose value is the fill */                        \
  ROW(buffer)          /* holds tokens */                                                    \
  ROW(write_level)     /* builds a level that is not dense (write.cpp) */                    \
  ROW(write_values)    /* builds the values (write.cpp) */                                   \
  ROW(parallelize)     /* deals the elements of a loop out to copies (split.cpp) */          \
  ROW(serialize)       /* puts what copies give back in order (split.cpp) */                 \
  ROW(pad)             /* a block with other dimensions */

/// In graphs with Graph::tiles only (graph/tiles.h), one node for what every core does (tile.cpp).
#define FUSEFLOW_TILE_KINDS(ROW)                                           \
  ROW(tile_load)       /* tiles from global memory */                      \
  ROW(tile_multiply)   /* products of tiles on the matrix unit */          \
  ROW(exchange)        /* partial C between the cores of a group */        \
  ROW(gather)          /* the shares of a group back to all of it */       \
  ROW(tile_hold)       /* keeps C for the steps of L */                    \
  ROW(shuffle)         /* C tiles round a ring */                          \
  ROW(reduce_scatter)  /* what cores have, summed: each gets a share */    \
  ROW(all_reduce)      /* what cores have, reduced: each gets the whole */ \
  ROW(tile_store)      /* tiles to global memory */                        \
  ROW(tile_coordinate) /* a subscript at each element, as a number */

/// `convert` stores a tensor as another one is stored; it is alone in its graph, without streams.
#define FUSEFLOW_NODE_KINDS(ROW) FUSEFLOW_STREAM_KINDS(ROW) ROW(convert) FUSEFLOW_TILE_KINDS(ROW)

enum class NodeKind : uint8_t {
#define FUSEFLOW_KIND(kind) kind,
  FUSEFLOW_NODE_KINDS(FUSEFLOW_KIND)
#undef FUSEFLOW_KIND
      count_,  ///< number of kinds
};

}  // namespace fuseflow
