// When to look again for what was looked for in vain: the oftener in vain, the later. Nothing else.
#pragma once

#include <algorithm>

namespace fuseflow::engine {

class VainLooks {
 public:
  /// Whether it is time to look again.
  bool due() {
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }
  void looked(bool in_vain) {
    to_leave_out_ = in_vain ? std::min(2 * to_leave_out_ + 1, kMost) : 0;
    left_out_ = to_leave_out_;
  }

 private:
  static constexpr int kMost = 15;

  int to_leave_out_ = 0;
  int left_out_ = 0;
};

}  // namespace fuseflow::engine
