// Rows of tensors that one phase writes while another reads them: what is complete after each of
// the writers' events, and which events a load has to wait for. Where memory takes time they are
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
#include "ir/program.h"

namespace fuseflow::engine {

/// A writer's events, in order.
struct WrittenRows {
  NodeId writer = -1;
  /// Fibers (values) from the first on to which this writer adds nothing any more, ascending.
  std::vector<int64_t> complete;
  std::vector<int64_t> arrives;  ///< by event: the earliest step of a load that waits for it
  /// The fibers (values) that may be its: all, but where copies are dealt ranges of rows.
  int64_t from = 0;
  int64_t to = INT64_MAX;
};

/// Finds which values may be those of a writer.
void find_range(const Program& program, const Graph& graph, WrittenRows& rows);

/// By tensor and level (-1: its values); several writers store a part of the values each.
using Rows = std::map<std::pair<TensorId, int>, std::vector<WrittenRows>>;

/// A load's place in the events of one writer that it waits for.
class RowGate {
 public:
  explicit RowGate(const WrittenRows& rows) : rows_(&rows), complete_(rows.from) {}
  /// Events to be awaited, beyond those that were, until a fiber (value) is complete.
  uint32_t wait_for(int64_t reference) {
    if (reference < complete_ || reference >= rows_->to) return 0;
    const auto& complete = rows_->complete;
    const auto at = std::upper_bound(complete.begin() + passed_, complete.end(), reference);
    if (at == complete.end()) return 0;  // the simulator's checks of references come later
    const auto events = static_cast<uint32_t>(at - complete.begin() - passed_ + 1);
    passed_ += events;
    complete_ = *at;
    return events;
  }
  /// Fibers (values) from the first on that need no further events of the writer.
  int64_t complete() const { return complete_ < rows_->to ? complete_ : INT64_MAX; }
  /// The earliest step that may use what the next event completes, event by event; where events
  /// have their times.
  int64_t next_arrival() { return rows_->arrives[timed_++]; }
  NodeId writer() const { return rows_->writer; }

 private:
  const WrittenRows* rows_;
  int64_t passed_ = 0;
  int64_t complete_;
  size_t timed_ = 0;
};

}  // namespace fuseflow::engine
