// What became of a point of a search: the names in the CSV of fuseflow-explore (ir-spec/csv.md),
// and what each means.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fuseflow {

enum class PointStatus : uint8_t {
  open,  ///< not decided yet; never in a CSV
  simulated,
  cut,
  pruned,
  same,
  refused,
  failed,
  elsewhere,
  unvisited,
};

struct PointStatusInfo {
  PointStatus status;
  std::string_view name;
  std::string_view means;  ///< of several points, as people read it
};

/// All but `open`, in the order in which they are printed.
const std::vector<PointStatusInfo>& point_statuses();

std::string_view name_of(PointStatus status);
std::optional<PointStatus> find_point_status(std::string_view name);

/// Whether points of this status have been run: their cycles are known, at least so far.
constexpr bool was_run(PointStatus status) {
  return status == PointStatus::simulated || status == PointStatus::cut ||
         status == PointStatus::failed;
}

}  // namespace fuseflow
