#include "explore/record.h"

#include <utility>

namespace fuseflow {

Record::Record(Journal& journal, std::map<size_t, PointResult> shards)
    : journal_(journal), found_(std::move(shards)) {
  found_.insert(journal.found().begin(), journal.found().end());
}

std::optional<PointResult> Record::result_of(size_t point, int64_t goal) const {
  const auto found = found_.find(point);
  if (found == found_.end()) return std::nullopt;
  const PointResult& result = found->second;
  const bool cut = result.status == PointStatus::cut;
  if (cut && (goal == 0 || goal > result.cycles)) return std::nullopt;
  const bool over = goal > 0 && result.status != PointStatus::failed && result.cycles >= goal;
  return over ? PointResult{PointStatus::cut, goal, 0, 0, 0, ""} : result;
}

}  // namespace fuseflow
