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

namespace fuseflow::engine {

/// A writer's events, in order.
struct WrittenRows {
  NodeId writer = -1;
  /// Fibers (values) from the first on to which this writer adds nothing any more, ascending.
  std::vector<int64_t> complete;
  std::vector<int64_t> arrives;  ///< by event: the earliest step of a load that waits for it
};

/// All writers of a level, or of the values: one, or several that store a part of the values each.
struct RowWriters {
  std::vector<WrittenRows> writers;
  // Where there are several:
  int64_t row = 1;                                 ///< values of a row
  std::vector<std::pair<int64_t, uint32_t>> ends;  ///< (complete, writer) of all events, ascending

  /// When all writers are there, of a tensor that has so many values a row.
  void find_ends(int64_t values_of_row) {
    ends.clear();
    if (writers.size() < 2) return;
    row = std::max<int64_t>(values_of_row, 1);
    for (uint32_t w = 0; w < writers.size(); ++w) {
      for (const int64_t complete : writers[w].complete) ends.emplace_back(complete, w);
    }
    std::sort(ends.begin(), ends.end());
  }
};

/// By tensor and level (-1: its values).
using Rows = std::map<std::pair<TensorId, int>, RowWriters>;

/// A load's place in the events of one writer that it waits for.
class RowGate {
 public:
  explicit RowGate(const WrittenRows& rows) : rows_(&rows) {}
  /// Events to be awaited, beyond those that were, until a fiber (value) is complete.
  uint32_t wait_for(int64_t reference) {
    if (reference < complete_) return 0;
    const auto& complete = rows_->complete;
    const auto at = std::upper_bound(complete.begin() + passed_, complete.end(), reference);
    if (at == complete.end()) return 0;  // the simulator's checks of references come later
    const auto events = static_cast<uint32_t>(at - complete.begin() - passed_ + 1);
    passed_ += events;
    complete_ = *at;
    return events;
  }
  /// The earliest step that may use what the next event completes, event by event; where events
  /// have their times.
  int64_t next_arrival() { return rows_->arrives[timed_++]; }
  NodeId writer() const { return rows_->writer; }

 private:
  const WrittenRows* rows_;
  int64_t passed_ = 0;
  int64_t complete_ = 0;
  size_t timed_ = 0;
};

/// A load's gates, one for each writer of what it reads.
class RowGates {
 public:
  RowGates() = default;
  explicit RowGates(const RowWriters& rows) : rows_(&rows) {
    for (const WrittenRows& written : rows.writers) gates_.emplace_back(written);
  }
  bool any() const { return !gates_.empty(); }
  size_t size() const { return gates_.size(); }
  RowGate& operator[](size_t g) { return gates_[g]; }
  auto begin() const { return gates_.begin(); }
  auto end() const { return gates_.end(); }

  /// Calls wait(gate, events) with the events to be awaited until a fiber (value) is complete:
  /// those of the writers that have its row, of all if none has.
  template <typename Wait>
  void wait_for(int64_t reference, Wait&& wait) {
    if (gates_.size() == 1) return wait(0, gates_[0].wait_for(reference));
    const int64_t end = (reference / rows_->row + 1) * rows_->row;
    if (end == awaited_) return;
    awaited_ = end;
    auto at = std::lower_bound(rows_->ends.begin(), rows_->ends.end(), std::pair(end, 0U));
    const bool none = at == rows_->ends.end() || at->first != end;
    for (size_t g = 0; none && g < gates_.size(); ++g) wait(g, gates_[g].wait_for(reference));
    for (; at != rows_->ends.end() && at->first == end; ++at) {
      wait(at->second, gates_[at->second].wait_for(reference));
    }
  }

 private:
  const RowWriters* rows_ = nullptr;
  std::vector<RowGate> gates_;
  int64_t awaited_ = 0;  // several writers: the end of the last row
};

}  // namespace fuseflow::engine
