// How busy (or blocked) a node is over time, in a bounded number of intervals however long the run
// (--trace).
// Pure data.
#pragma once

#include <cstdint>
#include <vector>

namespace fuseflow {

class Activity {
 public:
  /// Such cycles first .. last; calls come in order of time and do not overlap.
  void add(int64_t first, int64_t last);
  int64_t interval() const { return interval_; }
  const std::vector<int64_t>& busy() const { return busy_; }  ///< cycles, by interval

 private:
  void fit(int64_t last);

  int64_t interval_ = 1;
  std::vector<int64_t> busy_;
};

}  // namespace fuseflow
