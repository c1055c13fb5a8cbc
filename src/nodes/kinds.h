// The table of node kinds, in the order of NodeKind. Each kind has a rule (nodes/KIND.cpp, or the
// file named beside it); those of streams have code that runs them in each executor.
#pragma once

/// Nodes on streams.
#define FUSEFLOW_STREAM_KINDS(ROW)    \
  ROW(root)                           \
  ROW(scan)                           \
  ROW(locate)                         \
  ROW(repeat)                         \
  ROW(intersect)       /* join.cpp */ \
  ROW(intersect_words) /* join.cpp */ \
  ROW(gallop)                         \
  ROW(unite)    /* join.cpp */        \
  ROW(leftjoin) /* join.cpp */        \
  ROW(array)                          \
  ROW(map)                            \
  ROW(coordinate)                     \
  ROW(reduce)                         \
  ROW(accumulate)                     \
  ROW(align)                          \
  ROW(drop)                           \
  ROW(filter)                         \
  ROW(buffer)                         \
  ROW(write_level)  /* write.cpp */   \
  ROW(write_values) /* write.cpp */   \
  ROW(parallelize)  /* split.cpp */   \
  ROW(serialize)    /* split.cpp */   \
  ROW(pad)

/// Nodes of graphs of tiles (tile.cpp).
#define FUSEFLOW_TILE_KINDS(ROW) \
  ROW(tile_load)                 \
  ROW(tile_multiply)             \
  ROW(exchange)                  \
  ROW(gather)                    \
  ROW(tile_hold)                 \
  ROW(shuffle)                   \
  ROW(reduce_scatter)            \
  ROW(all_reduce)                \
  ROW(tile_store)                \
  ROW(tile_coordinate)

#define FUSEFLOW_NODE_KINDS(ROW) FUSEFLOW_STREAM_KINDS(ROW) ROW(convert) FUSEFLOW_TILE_KINDS(ROW)
