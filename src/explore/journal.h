// Simulated points on disk, appended one by one and flushed to the device, so that a search that is
// killed goes on where it was. Also reads the same results out of the CSVs of shards.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "report/point_status.h"

namespace fuseflow {

/// What simulating a point gave.
struct PointResult {
  PointStatus status = PointStatus::open;  ///< of one that was run (was_run), once it is known
  int64_t cycles = 0;
  int64_t flops = 0;
  int64_t dram_bytes = 0;
  int64_t scratchpad_bytes = 0;
  std::string note;
  int64_t energy_pj = 0;  ///< whole picojoules
};

class Journal {
 public:
  /// Opens or creates `path` (empty: no journal). Throws Error(rejected) if it belongs to another
  /// search, Error(io) if it cannot be written.
  Journal(const std::string& path, const std::string& search);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::map<size_t, PointResult>& found() const { return found_; }
  void append(size_t point, const PointResult& result);

 private:
  void load(const std::string& path, const std::string& header);
  int file_ = -1;
  std::string path_;
  std::mutex mutex_;
  std::map<size_t, PointResult> found_;
};

/// Results in the CSV of a shard (`fuseflow-explore --shard`), by point.
std::map<size_t, PointResult> read_shard(const std::string& path);

}  // namespace fuseflow
