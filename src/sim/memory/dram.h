// Memory that the ports of a graph's nodes ask: bursts are requested, served in simulated-time
// order over all ports, and answered. Rules and parameters: ir-spec/memory.md. Knows no graphs and
// no streams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "sim/memory/request_queue.h"
#include "support/latest.h"

namespace fuseflow {

struct MemoryAnswer {
  uint32_t port = 0;
  int64_t number = 0;
  int64_t time = 0;  ///< cycle in which the data is there (a write: is acknowledged)
};

/// What a memory did.
struct MemoryStats {
  int64_t reads = 0;
  int64_t writes = 0;
  int64_t row_hits = 0;
  int64_t row_misses = 0;  ///< an activation was needed
};

/// Time goes forward in windows: all requests issued before `horizon` are submitted (later ones may
/// be, too), then advance(horizon) gives every answer before horizon + least_latency(), or earlier
/// ones. So within a window of least_latency() cycles no port can see what another one does in the
/// same window.
class Memory {
 public:
  virtual ~Memory() = default;
  /// Those of a port in the order of their times and numbers.
  void submit(const MemoryRequest& request) { waiting_.push(request); }
  /// Serves what can be decided with all requests before `horizon` known. Appends the answers.
  virtual void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) = 0;
  /// Cycles from a request to its answer, at least.
  virtual int64_t least_latency() const = 0;
  /// The last cycle in which a request can be served.
  virtual int64_t latest() const { return kLatest; }
  const MemoryStats& stats() const { return stats_; }
  /// Calls seen(request) for every request that is taken to be served: by time, port and number,
  /// whatever the order in which they were submitted.
  void watch(std::function<void(const MemoryRequest&)> seen) { seen_ = std::move(seen); }

 protected:
  /// The next request before `horizon`, counted and shown to the watcher.
  bool take(int64_t horizon, MemoryRequest& request) {
    if (!waiting_.pop(horizon, request)) return false;
    ++(request.write ? stats_.writes : stats_.reads);
    if (seen_) seen_(request);
    return true;
  }
  MemoryStats stats_;

 private:
  RequestQueue waiting_;
  std::function<void(const MemoryRequest&)> seen_;
};

/// Null if the machine has no memory model.
std::unique_ptr<Memory> make_memory(const Machine& machine);
/// Rows, bank groups, turn-around, refresh: banked.cpp. For make_memory().
std::unique_ptr<Memory> make_banked_memory(const Machine& machine);
/// At least 1.
int64_t picoseconds_of_cycle(const Machine& machine);

}  // namespace fuseflow
