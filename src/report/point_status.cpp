#include "report/point_status.h"

namespace fuseflow {

const std::vector<PointStatusInfo>& point_statuses() {
  using enum PointStatus;
  static const std::vector<PointStatusInfo> infos = {
      {simulated, "simulated", "run to the end"},
      {cut, "cut", "run until they were slower than what they had to beat"},
      {pruned, "pruned", "not run: their lower bounds are no better than what was known"},
      {same, "same", "not run: another point has the same graph"},
      {refused, "refused", "not run: they cannot be lowered, or do not fit the machine"},
      {failed, "failed", "their runs did not finish"},
      {elsewhere, "elsewhere", "not run: points of other shards"},
      {unvisited, "unvisited", "not run: the search had ended"},
  };
  return infos;
}

std::string_view name_of(PointStatus status) {
  for (const PointStatusInfo& info : point_statuses()) {
    if (info.status == status) return info.name;
  }
  return "";
}

std::optional<PointStatus> find_point_status(std::string_view name) {
  for (const PointStatusInfo& info : point_statuses()) {
    if (info.name == name) return info.status;
  }
  return std::nullopt;
}

}  // namespace fuseflow
