// What is found out about a port where no FIFO is bounded: the most tokens that it holds, and for a
// bounded buffer before it, when its tokens are taken.
#pragma once

#include <cstddef>

#include "sim/functional/port.h"
#include "sim/timing/buffer_model.h"
#include "sim/timing/credits.h"
#include "sim/timing/occupancy.h"

namespace fuseflow::engine {

class alignas(kCacheLine) PortWatch : public TakeObserver {
 public:
  bool measured = true;  ///< false: another port has the same times; see `like`
  const PortWatch* like = nullptr;
  BufferModel* buffer = nullptr;  ///< the producer is a bounded buffer, which measures for the port
  Credits* credits = nullptr;     ///< the producer is a bounded buffer that waits for the takes
  size_t consumer = 0;            ///< the port's number at `buffer` or `credits`

  void take(const TimeRef& gives, const TimeRef& takes, uint32_t n) override {
    if (buffer != nullptr) buffer->take(consumer, takes, n);
    if (credits != nullptr) credits->take(consumer, takes, n);
    if (measured) occupancy_.add(gives, takes, n);
  }
  /// Whether take() does anything.
  bool wanted() const { return measured || buffer != nullptr || credits != nullptr; }
  int64_t peak() const {
    if (buffer != nullptr) return buffer->peak(consumer);
    return like != nullptr ? like->peak() : occupancy_.peak();
  }

 private:
  Occupancy occupancy_;
};

}  // namespace fuseflow::engine
