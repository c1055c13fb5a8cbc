// What can be chosen of a run. Pure data.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace fuseflow {

enum class Executor : uint8_t { fast, naive };

struct RunOptions {
  Executor executor = Executor::fast;
  int threads = 1;
  int64_t max_cycles = 0;  ///< 0: no limit (each limit)
  double max_seconds = 0;
  int64_t max_memory_bytes = 0;               ///< of the simulator's own buffers and results
  const std::atomic<bool>* cancel = nullptr;  ///< ends the run soon after it becomes true
  bool record_streams = false;                ///< keep every token (tests); unbounded memory
  bool explain_deadlock = true;               ///< search for the depth that would free it
  /// Called now and then from the calling thread with the simulated time reached so far.
  std::function<void(int64_t cycles, int64_t tokens)> progress;
  bool full_streams = false;  ///< find StreamStats::blocked
  bool trace = false;         ///< keep RunResult::activity, stalls and waits
  /// Called with every burst that the memory model takes to serve, by time (cycles of the region,
  /// never falling): in the same order on any number of threads.
  std::function<void(int64_t cycle, bool write, uint64_t address)> accessed;
};

}  // namespace fuseflow
