// Makes one segment of several short ones. What a batch costs besides its tokens (memory for its
// parts, looking for the next node) is about what a hundred tokens cost, and behind a reduction or
// a sparse intersection segments are that short.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "sim/functional/tokens.h"

namespace fuseflow::engine {

/// For the streams of one thread. What several streams share is made once, as far as it is recent.
class Coalescer {
 public:
  /// The tokens of all these, which follow one another in a stream. Payloads are words, not names
  /// of blocks.
  Segment join(std::span<Segment> parts);
  /// Forgets what was made lately.
  void clear() { *this = Coalescer(); }

 private:
  static constexpr size_t kRecent = 8;
  struct JoinedStructure {
    StructureRef first;  ///< those of the first and last part say which the others are
    StructureRef last;
    uint32_t begin = 0;
    uint32_t count = 0;
    StructureRef joined;
  };
  struct JoinedTimes {
    std::vector<TimeRef> parts;
    int64_t delta = 0;  ///< of the first part; the others' count from it
    uint32_t count = 0;
    std::shared_ptr<const Times> joined;
  };

  StructureRef structure(std::span<const Segment> parts, uint32_t count);
  TimeRef times(std::span<const Segment> parts, uint32_t count);

  std::array<JoinedStructure, kRecent> structures_;
  std::array<JoinedTimes, kRecent> times_;
  size_t next_structure_ = 0;
  size_t next_times_ = 0;
};

}  // namespace fuseflow::engine
