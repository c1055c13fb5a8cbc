// Rows of tensors that one phase writes while another reads them: what is complete after each of
// the writer's events, and which events a load has to wait for. Where memory takes time they are
// found out before times are, and the load takes a token for each event; else the earlier phase is
// worked out first, times and all, and a load sees when each event reaches it. Rules:
// ir-spec/timing.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fuseflow::engine {

/// A writer's events, in order.
struct WrittenRows {
  NodeId writer = -1;
  std::vector<int64_t>
      complete;                  ///< fibers (values) from the first on that are complete, ascending
  std::vector<int64_t> arrives;  ///< by event: the earliest step of a load that waits for it
};

/// By tensor and level (-1: its values).
using Rows = std::map<std::pair<TensorId, int>, WrittenRows>;

/// A load's place in the events that it waits for.
class RowGate {
 public:
  RowGate() = default;
  explicit RowGate(const WrittenRows& rows) : rows_(&rows) {}
  /// Events to be awaited, beyond those that were, until a fiber (value) is complete.
  uint32_t wait_for(int64_t reference) {
    if (rows_ == nullptr || reference < complete_) return 0;
    const auto& complete = rows_->complete;
    const auto at = std::upper_bound(complete.begin() + passed_, complete.end(), reference);
    if (at == complete.end()) return 0;  // the simulator's checks of references come later
    const auto events = static_cast<uint32_t>(at - complete.begin() - passed_ + 1);
    passed_ += events;
    complete_ = *at;
    return events;
  }
  /// The earliest step that may use what event number k completes, where that is known.
  int64_t arrival_of(int64_t k) const { return rows_->arrives[static_cast<size_t>(k)]; }
  NodeId writer() const { return rows_ == nullptr ? -1 : rows_->writer; }

 private:
  const WrittenRows* rows_ = nullptr;
  int64_t passed_ = 0;
  int64_t complete_ = 0;
};

}  // namespace fuseflow::engine
