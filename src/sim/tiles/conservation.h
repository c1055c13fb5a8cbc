// Laws that every simulation of tiles obeys: what is sent is received, what is needed is loaded, no
// resource does more than its rate allows. Checked at the end of every launch; a broken one is an
// error of the program, not of its input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "machine/machine.h"
#include "sim/tiles/lanes.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// What one core, or the whole machine, did in a launch.
struct WorkDone {
  int64_t flops = 0;             ///< of matrix units
  LaneWork lanes;                ///< of vector lanes
  int64_t port_bytes = 0;        ///< loads and stores
  int64_t scratchpad_bytes = 0;  ///< reads and writes
  int64_t link_bytes = 0;        ///< sent
};

/// Which rate the work of one core exceeds in so many cycles of a launch of clusters of
/// `cluster_cores`; nothing when none.
std::optional<std::string> exceeded_rate(const WorkDone& core, int64_t cycles,
                                         int64_t element_bytes, int cluster_cores,
                                         const Machine& machine);

/// Bytes that the operations of one cluster send over links, and that they take from them, counted
/// apart: the first from the senders' `bytes`, the second from the shapes of the tiles that each
/// other core takes.
struct LinkBytes {
  int64_t sent = 0, received = 0;
};
LinkBytes link_bytes_of(const TileOps& ops, const Graph& graph);

/// Bytes that no execution of the graph can avoid to load and to store: every tile of every load
/// that is walked, and of every result, once, in the element type, with its padding.
struct CompulsoryBytes {
  int64_t loaded = 0, stored = 0;
};
CompulsoryBytes compulsory_bytes(const Graph& graph);

/// Which law the bytes of a whole launch break: DRAM moves at least the compulsory ones, and of an
/// L2 the cores take at least what it had to take from DRAM; nothing when none.
std::optional<std::string> broken_memory_law(const LevelBytes& moved, const CompulsoryBytes& least,
                                             bool has_l2);

}  // namespace fuseflow
