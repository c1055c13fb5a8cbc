#include "sim/tiles/memory.h"

#include <algorithm>
#include <cmath>

#include "support/ceil_div.h"
#include "support/latest.h"

namespace fuseflow {
namespace {

constexpr int64_t kChannelPieceBytes = 512;
constexpr int64_t kMostChannels = 4096;

}  // namespace

int64_t ticks_for(double amount, double per_cycle) {
  if (per_cycle <= 0) return 0;
  // At most kLongest, which no real core takes, so that sums do not wrap.
  const double ticks = std::ceil(amount * static_cast<double>(kTicks) / per_cycle);
  return ticks < static_cast<double>(kLongest) ? static_cast<int64_t>(ticks) : kLongest;
}

TileMemory::TileMemory(const Machine& machine)
    : machine_(machine),
      has_l2_(machine.has_l2()),
      channels_(static_cast<size_t>(std::min(machine.global.channels, kMostChannels)), 0),
      held_(machine.l2.capacity_bytes) {}

void TileMemory::hold(const TileKey& tile, int64_t bytes) {
  if (held_.find(tile) == nullptr) held_.put({tile, bytes, 0, true});
}

/// Pieces of a transfer go to consecutive channels; it is through when its last piece is.
int64_t TileMemory::through_channels(const TileTransfer& access) {
  const auto channels = static_cast<int64_t>(channels_.size());
  const int64_t pieces =
      std::clamp<int64_t>(ceil_div(access.bytes, kChannelPieceBytes), 1, channels);
  const int64_t service =
      ticks_for(static_cast<double>(access.bytes) / static_cast<double>(pieces),
                machine_.global_bytes_per_cycle() / static_cast<double>(channels));
  int64_t last = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t& free = channels_[(access.channel + piece) % channels];
    free = capped_sum(std::max(free, access.time), service);
    last = std::max(last, free);
  }
  return last;
}

/// The L2 serves one access after the other, each at the rate of all cores together.
int64_t TileMemory::through_l2(const TileTransfer& access, double bytes_per_cycle) {
  if (!has_l2_) return access.time;
  l2_free_ = capped_sum(std::max(l2_free_, access.time),
                        ticks_for(static_cast<double>(access.bytes), bytes_per_cycle));
  return l2_free_;
}

TileAnswer TileMemory::load(const TileTransfer& access) {
  const int64_t passed = through_l2(access, machine_.l2.bytes_per_cycle);
  const int64_t near = machine_.l2.latency_cycles * kTicks;
  const int64_t far = machine_.global.latency_cycles * kTicks;
  const auto answer = [&](int64_t given, int64_t latency, int64_t bytes) {
    return TileAnswer{std::max(given, access.port_free + latency), bytes, given, latency};
  };
  if (const HeldTile* held = has_l2_ ? held_.find(access.tile) : nullptr) {
    return answer(std::max(passed, held->there) + near, near, 0);  // may be under way for another
  }
  const int64_t read = through_channels(access);
  if (has_l2_) held_.put({access.tile, access.bytes, read + far - near, false});
  return answer(std::max(passed, read) + far, far, access.bytes);
}

TileAnswer TileMemory::store(const TileTransfer& access) {
  const int64_t passed =
      std::max(access.port_free, through_l2(access, machine_.l2.store_rate(access.adds)));
  HeldTile* held = has_l2_ ? held_.find(access.tile) : nullptr;
  if (held != nullptr && held->written) {  // goes to memory with what was stored before
    return {passed + machine_.l2.latency_cycles * kTicks, 0};
  }
  const bool fetches = access.adds && held == nullptr;
  if (fetches) through_channels(access);
  const int64_t written = through_channels(access);
  if (held != nullptr) {
    held->written = true;
  } else if (has_l2_) {
    held_.put({access.tile, access.bytes, passed, true});
  }
  return {.end = std::max(passed, written) + machine_.global.latency_cycles * kTicks,
          .memory_bytes = access.bytes,
          .fetched_bytes = fetches ? access.bytes : 0};
}

}  // namespace fuseflow
