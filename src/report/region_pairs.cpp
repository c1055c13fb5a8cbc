// Which regions of two runs are compared with each other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/attribution.h"
#include "nodes/rule.h"
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

using Keys = std::vector<std::vector<std::string>>;  ///< by region

/// The tensors that a region without statements gives: what statements would define.
std::vector<std::string> results_of(const Program& program, const Region& region) {
  std::vector<std::string> names;
  if (!region.graph) return names;
  for (const Node& node : region.graph->nodes) {
    if (!stores_result(node.kind) || node.tensor < 0) continue;
    names.push_back(program.tensors[static_cast<size_t>(node.tensor)].name);
  }
  return names;
}

Keys statements_of(const Program& program) {
  Keys keys(program.regions.size());
  for (size_t r = 0; r < keys.size(); ++r) {
    const Region& region = program.regions[r];
    for (const Statement& statement : region.statements) {
      keys[r].push_back(program.tensors[static_cast<size_t>(statement.result)].name);
    }
    if (region.statements.empty()) keys[r] = results_of(program, region);
  }
  return keys;
}

/// The layers of each region; one without any has the empty layer.
Keys layers_of(const Program& program) {
  const Attribution attribution(program);
  Keys keys(program.regions.size());
  for (size_t r = 0; r < keys.size(); ++r) {
    for (const Statement& statement : program.regions[r].statements) {
      const std::string& layer = attribution.layer(statement);
      if (!layer.empty()) keys[r].push_back(layer);
    }
    if (keys[r].empty()) keys[r].emplace_back();
  }
  return keys;
}

/// Regions that share keys, directly or through others, are one pair. `note` is called with the
/// pair and each key.
template <typename Note>
std::vector<RegionPair> pair_by_keys(const Program& a, const Program& b, const Keys& keys_a,
                                     const Keys& keys_b, const Note& note) {
  const size_t of_a = a.regions.size();
  Groups groups(of_a + b.regions.size());
  std::map<std::string, size_t> region_of;
  const auto join = [&](const Keys& keys, size_t first) {
    for (size_t r = 0; r < keys.size(); ++r) {
      for (const std::string& key : keys[r]) {
        const auto [place, added] = region_of.emplace(key, first + r);
        if (!added) groups.join(place->second, first + r);
      }
    }
  };
  join(keys_a, 0);
  join(keys_b, of_a);
  std::vector<RegionPair> pairs;
  std::map<size_t, size_t> pair_of;
  const auto pair = [&](size_t number) -> RegionPair& {
    const auto [place, added] = pair_of.emplace(groups.find(number), pairs.size());
    if (added) pairs.emplace_back();
    return pairs[place->second];
  };
  const auto add = [&](const Program& program, const Keys& keys, size_t first,
                       std::vector<std::string> RegionPair::*side) {
    for (size_t r = 0; r < keys.size(); ++r) {
      RegionPair& one = pair(first + r);
      (one.*side).push_back(program.regions[r].name);
      for (const std::string& key : keys[r]) note(one, key);
    }
  };
  add(a, keys_a, 0, &RegionPair::a);
  add(b, keys_b, of_a, &RegionPair::b);
  return pairs;
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
  return pair_by_keys(a, b, statements_of(a), statements_of(b),
                      [](RegionPair&, const std::string&) {});
}

std::vector<RegionPair> pair_by_layers(const Program& a, const Program& b) {
  const auto note = [](RegionPair& pair, const std::string& layer) {
    if (std::find(pair.layers.begin(), pair.layers.end(), layer) == pair.layers.end()) {
      pair.layers.push_back(layer);
    }
  };
  std::vector<RegionPair> pairs = pair_by_keys(a, b, layers_of(a), layers_of(b), note);
  const auto named = [](const RegionPair& pair) { return !pair.layers[0].empty(); };
  std::stable_partition(pairs.begin(), pairs.end(), named);
  if (pairs.size() < 2) pairs.clear();
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
