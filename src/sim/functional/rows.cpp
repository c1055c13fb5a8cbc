#include "sim/functional/rows.h"

namespace fuseflow::engine {

void RowWriters::find_ends(std::span<const int64_t> level_extents) {
  ends.clear();
  if (writers.size() < 2) return;
  row = 1;
  for (size_t l = 1; l < level_extents.size(); ++l) row *= level_extents[l];
  row = std::max<int64_t>(row, 1);
  for (uint32_t w = 0; w < writers.size(); ++w) {
    for (const int64_t complete : writers[w].complete) ends.emplace_back(complete, w);
  }
  std::sort(ends.begin(), ends.end());
}

}  // namespace fuseflow::engine
