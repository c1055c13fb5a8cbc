// Whether a node works now or waits for more tokens. No graph, no threads.
#pragma once

#include <cstdint>

namespace fuseflow::engine {

/// A node that has a batch of less than `few` tokens waits until it has many: two or three short
/// segments more would not pay for making one of them (coalesce.cpp).
class BatchThreshold {
 public:
  static constexpr uint32_t kManyOfFew = 4;

  /// `expected`: tokens of the next batch.
  bool enough(double expected, uint32_t few) {
    waits_ = waits_ || expected < few;
    return expected >= (waits_ ? kManyOfFew : 1) * static_cast<double>(few);
  }
  /// The node has worked.
  void reset() { waits_ = false; }

 private:
  bool waits_ = false;
};

}  // namespace fuseflow::engine
