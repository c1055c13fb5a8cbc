#include "report/node_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/collapse.h"

namespace fuseflow {
namespace {

/// Something of a region, by its name and a number.
using Place = std::pair<std::string, int64_t>;

/// The first copy of each node that has copies before it.
std::map<Place, int64_t> first_copies(const PageInput& input) {
  std::map<Place, int64_t> first;
  if (!input.program) return first;
  for (const Region& region : input.program->regions) {
    if (!region.graph) continue;
    for (const NodeGroup& group : collapse_copies(*region.graph)) {
      for (const size_t node : group.nodes) {
        first[{region.name, static_cast<int64_t>(node)}] = static_cast<int64_t>(group.nodes[0]);
      }
    }
  }
  return first;
}

/// Where the streams of a program come from: the first copy of the node, and its output.
std::map<std::pair<std::string, std::string>, Place> origins(const PageInput& input) {
  constexpr int64_t kMostOutputs = 1 << 20;
  std::map<std::pair<std::string, std::string>, Place> result;
  if (!input.program) return result;
  const std::map<Place, int64_t> first = first_copies(input);
  for (const Region& region : input.program->regions) {
    if (!region.graph) continue;
    for (const Stream& stream : region.graph->streams) {
      const Node& producer = region.graph->nodes[static_cast<size_t>(stream.producer)];
      // What tells copies apart is which output of a split they take.
      const int64_t port = producer.kind == NodeKind::parallelize ? 0 : stream.port;
      const int64_t node = first.at({region.name, stream.producer});
      result[{region.name, stream.name}] = {region.name, node * kMostOutputs + port};
    }
  }
  return result;
}

}  // namespace

std::vector<BusyGroup> busiest_groups(const PageInput& input, size_t most) {
  const std::map<Place, int64_t> first = first_copies(input);
  std::map<Place, size_t> group_of;
  std::vector<BusyGroup> groups;
  for (const NodeRow& row : input.nodes) {
    const auto copy = first.find({row.region, row.number});
    const int64_t number = copy == first.end() ? row.number : copy->second;
    const auto [place, added] = group_of.emplace(Place{row.region, number}, groups.size());
    if (added) {
      groups.push_back({&row, 1});
      continue;
    }
    BusyGroup& group = groups[place->second];
    ++group.copies;
    if (row.busy > group.row->busy) group.row = &row;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const BusyGroup& a, const BusyGroup& b) {
    return a.row->busy > b.row->busy;
  });
  groups.resize(std::min(groups.size(), most));
  return groups;
}

std::vector<StreamGroup> stream_groups(const PageInput& input) {
  const auto known = origins(input);
  std::map<Place, size_t> group_of;
  std::vector<StreamGroup> groups;
  for (const StreamRow& row : input.streams) {
    const auto origin = known.find({row.region, row.stream});
    const bool first =
        origin == known.end() || group_of.emplace(origin->second, groups.size()).second;
    if (first) {
      groups.push_back({&row, 1});
      continue;
    }
    StreamGroup& group = groups[group_of.at(origin->second)];
    ++group.copies;
    const auto fullness = [](const StreamRow& stream) {
      return std::pair(stream.blocked, stream.peak_tokens);
    };
    if (fullness(row) > fullness(*group.row)) group.row = &row;
  }
  return groups;
}

std::string node_label(const NodeRow& row, const ShortNames& names) {
  std::string text = fmt::format("{} {}", row.number, row.kind);
  if (!row.function.empty()) text += " " + row.function;
  if (row.tensor.empty()) return text;
  const size_t level = row.tensor.rfind('.');  // `tensor.level`
  const bool digits = level != std::string::npos && level + 1 < row.tensor.size() &&
                      row.tensor.find_first_not_of("0123456789", level + 1) == std::string::npos;
  const std::string tensor = digits ? row.tensor.substr(0, level) : row.tensor;
  return text + " " + names.of(tensor) + (digits ? row.tensor.substr(level) : "");
}

}  // namespace fuseflow
