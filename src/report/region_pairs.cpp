// Which regions of two runs are compared with each other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "report/run_diff.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Regions of both runs as one set of numbers: those of `a`, then those of `b`; joined by
/// union-find.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t find(size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(size_t x, size_t y) {
    parent_[std::max(find(x), find(y))] = std::min(find(x), find(y));
  }

 private:
  std::vector<size_t> parent_;
};

void join_by_statements(const Program& program, size_t first, Groups& groups,
                        std::map<std::string, size_t>& region_of) {
  for (size_t r = 0; r < program.regions.size(); ++r) {
    for (const Statement& statement : program.regions[r].statements) {
      const std::string& name = program.tensors[static_cast<size_t>(statement.result)].name;
      const auto [place, added] = region_of.emplace(name, first + r);
      if (!added) groups.join(place->second, first + r);
    }
  }
}

}  // namespace

std::vector<RegionPair> pair_by_name(const RunTable& a, const RunTable& b) {
  std::vector<RegionPair> pairs;
  std::map<std::string, size_t> pair_of;
  for (const RunRow& row : a.regions) {
    pair_of.emplace(row.region, pairs.size());
    pairs.push_back({{row.region}, {}});
  }
  for (const RunRow& row : b.regions) {
    const auto found = pair_of.find(row.region);
    if (found != pair_of.end()) {
      pairs[found->second].b.push_back(row.region);
    } else {
      pairs.push_back({{}, {row.region}});
    }
  }
  return pairs;
}

std::vector<RegionPair> pair_by_statements(const Program& a, const Program& b) {
  const size_t of_a = a.regions.size();
  Groups groups(of_a + b.regions.size());
  std::map<std::string, size_t> region_of;
  join_by_statements(a, 0, groups, region_of);
  join_by_statements(b, of_a, groups, region_of);

  std::vector<RegionPair> pairs;
  std::map<size_t, size_t> pair_of;
  const auto pair = [&](size_t number) -> RegionPair& {
    const auto [place, added] = pair_of.emplace(groups.find(number), pairs.size());
    if (added) pairs.emplace_back();
    return pairs[place->second];
  };
  for (size_t r = 0; r < of_a; ++r) pair(r).a.push_back(a.regions[r].name);
  for (size_t r = 0; r < b.regions.size(); ++r) pair(of_a + r).b.push_back(b.regions[r].name);
  return pairs;
}

void require_regions_of(const RunTable& run, const Program& program) {
  const auto same = [](const RunRow& row, const Region& region) {
    return row.region == region.name;
  };
  if (std::equal(run.regions.begin(), run.regions.end(), program.regions.begin(),
                 program.regions.end(), same)) {
    return;
  }
  throw Error(ExitCode::rejected,
              fmt::format("{}: the regions are not those of program \"{}\": expected the report of "
                          "a run of that program",
                          run.file, program.name));
}

}  // namespace fuseflow
