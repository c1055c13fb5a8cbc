// Memory behind the ports of a graph's nodes: bursts are requested, served in simulated-time order
// over all ports, and answered. Rules and parameters: ir-spec/memory.md. Knows no graphs and no
// streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "machine/machine.h"

namespace fuseflow {

/// One burst. Requests of a port are answered in any order; who needs them in order waits.
struct MemoryRequest {
  int64_t time = 0;  ///< cycle in which the port issues it
  uint32_t port = 0;
  int64_t number = 0;    ///< of the port's requests
  uint64_t address = 0;  ///< of the burst, in bytes
  bool write = false;
};

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
/// ones. So within a window of least_latency() cycles nobody can see what another port does in the
/// same window.
class Memory {
 public:
  virtual ~Memory() = default;
  void submit(const MemoryRequest& request) {
    waiting_.push_back(request);
    std::push_heap(waiting_.begin(), waiting_.end(), later);
  }
  /// Serves what can be decided with all requests before `horizon` known. Appends the answers.
  virtual void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) = 0;
  /// Cycles from a request to its answer, at least.
  virtual int64_t least_latency() const = 0;
  const MemoryStats& stats() const { return stats_; }

 protected:
  /// Whether there is a request before `horizon`: the first of them, by time, port and number.
  bool next(int64_t horizon, MemoryRequest& request) {
    if (waiting_.empty() || waiting_.front().time >= horizon) return false;
    request = waiting_.front();
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    waiting_.pop_back();
    return true;
  }

  MemoryStats stats_;

 private:
  static bool later(const MemoryRequest& a, const MemoryRequest& b) {
    return std::tie(a.time, a.port, a.number) > std::tie(b.time, b.port, b.number);
  }

  std::vector<MemoryRequest> waiting_;  // a heap, the first on top
};

/// Null if the machine has no memory model.
std::unique_ptr<Memory> make_memory(const Machine& machine);

}  // namespace fuseflow
