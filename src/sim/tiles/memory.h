// Global memory as the cores see it: channels of DRAM and, where the machine has one, an L2 in
// front of them. Says when an access ends and how many of its bytes DRAM moves. Rules:
// ir-spec/cluster.md, "The L2".
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.h"
#include "sim/tiles/tile_cache.h"

namespace fuseflow {

inline constexpr int64_t kTicks = 64;  ///< time units a cycle, so that bandwidths need not divide

/// Ticks that `amount` takes at a rate a cycle; a rate of 0 is free.
int64_t ticks_for(double amount, double per_cycle);

/// What a core asks of memory, in ticks.
struct TileTransfer {
  TileKey tile;
  int64_t bytes = 0;
  int64_t channel = 0;    ///< its first piece goes to this one, modulo their number
  int64_t time = 0;       ///< when it is asked
  int64_t port_free = 0;  ///< when the core's port has passed all of it
  bool adds = false;      ///< of a store: it is added to what is there, which is read first
};

struct TileAnswer {
  int64_t end = 0;            ///< when the core has it, or it is stored
  int64_t memory_bytes = 0;   ///< moved by DRAM: read for a load, written for a store
  int64_t given = 0;          ///< of a load: its end if the core's port took no time
  int64_t latency = 0;        ///< of a load: ticks from the core's port to the core
  int64_t fetched_bytes = 0;  ///< of a store that adds: what DRAM gave first
};

class TileMemory {
 public:
  explicit TileMemory(const Machine& machine);
  explicit TileMemory(const Machine&& machine) = delete;  ///< it is kept by reference

  TileAnswer load(const TileTransfer& access);
  TileAnswer store(const TileTransfer& access);

  /// The L2 holds this tile from the start, as a launch before left it.
  void hold(const TileKey& tile, int64_t bytes);

  bool has_l2() const { return has_l2_; }

 private:
  int64_t through_channels(const TileTransfer& access);
  int64_t through_l2(const TileTransfer& access, double bytes_per_cycle);

  const Machine& machine_;
  const bool has_l2_;
  std::vector<int64_t> channels_;  ///< when each is free
  int64_t l2_free_ = 0;
  TileCache held_;
};

}  // namespace fuseflow
