// What is known of points from before: the journal's results and those of merged shards; and where
// new results go. Simulates nothing.
#pragma once

#include <map>
#include <optional>

#include "explore/journal.h"

namespace fuseflow {

class Record {
 public:
  /// `shards`: results of merged shards, which count before the journal.
  Record(Journal& journal, std::map<size_t, PointResult> shards);

  bool has(size_t point) const { return found_.count(point) > 0; }
  /// What simulating the point gives that has to take fewer cycles than `goal` (0: no goal);
  /// nothing where the result does not say so: a run that was cut says nothing of a longer one.
  std::optional<PointResult> result_of(size_t point, int64_t goal) const;
  /// Any thread may.
  void append(size_t point, const PointResult& result) { journal_.append(point, result); }

  /// What was worked out before, as the search began.
  const Memo& memo() const { return journal_.memo(); }
  /// Whether what is worked out now is kept.
  bool keeps() const { return journal_.is_open(); }
  /// A line of a memo (memo.h). Any thread may.
  void keep(const std::string& memo_line) { journal_.append(memo_line); }

 private:
  Journal& journal_;
  std::map<size_t, PointResult> found_;  ///< as the search began
};

}  // namespace fuseflow
