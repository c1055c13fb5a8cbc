// Takes segments from one thread to another as copies. A core that writes where another core has
// read waits for that core, line by line, which costs more than all that is computed; so what
// passes is copied, past the caches, into memory that is used for nothing else, and each thread's
// own chunks stay its own. What run lengths can say (run_length.h) passes so.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "sim/functional/port.h"

namespace fuseflow::engine {

/// Copies for the streams of one thread. What several streams share is copied once, as far as it is
/// recent.
class CrossThreadCopy : public SegmentCopier {
 public:
  Segment copy(const Segment& segment, bool payload) override;
  /// Forgets what was copied lately.
  void clear();

 private:
  static constexpr size_t kRecent = 16;
  template <typename T>
  struct Recent {
    struct Entry {
      std::shared_ptr<const T> from;
      std::shared_ptr<const T> to;
    };
    std::array<Entry, kRecent> entries;
    size_t next = 0;
    template <typename Make>
    std::shared_ptr<const T> find(const std::shared_ptr<const T>& from, Make&& make);
  };
  Recent<Structure> structures_;
  Recent<Times> times_;
};

}  // namespace fuseflow::engine
