// Times kept for later in few bytes: differences as variable-length numbers. For FIFOs that hold
// many tokens in simulated time, whose takes have to be remembered. Nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/data/times.h"

namespace fuseflow::engine {

class PackedTimes {
 public:
  PackedTimes() = default;
  PackedTimes(const TimeRef& ref, uint32_t n);
  TimeRef unpack() const;
  bool empty() const { return count_ == 0; }

 private:
  std::vector<uint8_t> bytes_;
  uint32_t count_ = 0;
  int64_t gap_ = 0;
};

}  // namespace fuseflow::engine
