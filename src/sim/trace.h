// A timeline of a run for Perfetto or chrome://tracing (JSON trace events): one track a node, one
// cycle is one microsecond. Sampled, so that a file of any run opens: each node keeps at most a
// fixed number of intervals, which grow with the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// How busy one node was, by interval of time.
class Activity {
 public:
  /// Busy cycles first .. last; calls come in order of time.
  void add(int64_t first, int64_t last);
  int64_t interval() const { return interval_; }
  const std::vector<int64_t>& busy() const { return busy_; }

 private:
  void fit(int64_t last);

  int64_t interval_ = 1;
  std::vector<int64_t> busy_;  ///< cycles, by interval
};

class Trace {
 public:
  /// The region that what follows belongs to, and the cycle at which it starts.
  void begin_region(const Region& region, int64_t start);
  void add(NodeId node, int64_t first, int64_t last);
  /// JSON. Neighbouring intervals that are equally busy (to a tenth) are one slice.
  std::string json(const Program& program) const;

 private:
  struct Part {
    const Region* region = nullptr;
    int64_t start = 0;
    std::vector<Activity> nodes;
  };
  std::vector<Part> parts_;
};

}  // namespace fuseflow
