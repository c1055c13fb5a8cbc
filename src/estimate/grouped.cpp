// Relations::relation: the elements of a space are expanded from its parent's rows and grouped.
// What need not be expanded (rows whose fibers look the same) and what need not be hashed (rows
// that differ anyway) is decided here; neither changes the table, nor the order of its rows.
#include <algorithm>

#include "estimate/chunks.h"
#include "estimate/derived.h"
#include "estimate/relations.h"
#include "nodes/rule.h"

namespace fuseflow::estimate {

namespace {

constexpr size_t kLong =
    4;  ///< elements a fiber has on average, where looking at its row first pays

bool are_long(const std::vector<Range>& fibers) {
  size_t elements = 0;
  for (const Range& fiber : fibers) elements += fiber.count;
  return elements >= kLong * fibers.size();
}

bool same_coordinates(const Range& a, const Range& b) {
  return a.crd == b.crd && a.count == b.count && a.base == b.base;
}

uint64_t hash_of(const Source& source, size_t row) {
  const Range& fiber = source.fibers[row];
  uint64_t h = reinterpret_cast<uintptr_t>(fiber.crd) + fiber.count;
  const auto mix = [&](uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29U;
  };
  mix(fiber.base);
  for (const auto& column : source.parent.values) mix(column[row]);
  return h;
}

/// Rows that are equal and whose fibers have the same coordinates become one. Positions are lost.
Source merged(const Source& source) {
  Source result;
  result.parent.columns = source.parent.columns;
  result.parent.values.resize(source.parent.columns.size());
  result.row_of.assign(source.fibers.size(), RowIndex::kNoRow);
  RowHash known;
  for (size_t r = 0; r < source.fibers.size(); ++r) {
    if (source.fibers[r].count == 0) continue;
    const uint64_t hash = hash_of(source, r);
    const uint32_t found = known.find(hash, [&](uint32_t row) {
      for (size_t c = 0; c < source.parent.values.size(); ++c) {
        if (result.parent.values[c][row] != source.parent.values[c][r]) return false;
      }
      return same_coordinates(result.fibers[row], source.fibers[r]);
    });
    if (found != RowHash::kNone) {
      result.row_of[r] = found;
      result.parent.weight[found] += source.parent.weight[r];
      continue;
    }
    result.row_of[r] = static_cast<uint32_t>(result.fibers.size());
    known.add(hash, static_cast<uint32_t>(result.fibers.size()));
    for (size_t c = 0; c < source.parent.values.size(); ++c) {
      result.parent.values[c].push_back(source.parent.values[c][r]);
    }
    result.parent.weight.push_back(source.parent.weight[r]);
    result.fibers.push_back(source.fibers[r]);
  }
  return result;
}

Table only(const Table& table, const Columns& columns) {
  Table result;
  result.columns = columns;
  for (const Column c : columns) result.values.push_back(table.at(c));
  result.weight = table.weight;
  return result;
}

/// The elements of the fibers by what is equal along each of them.
Table counted(const Source& source, const Columns& columns) {
  Table elements;
  elements.columns = columns;
  elements.values.resize(columns.size());
  for (size_t r = 0; r < source.fibers.size(); ++r) {
    if (source.fibers[r].count == 0) continue;
    for (size_t c = 0; c < columns.size(); ++c) {
      elements.values[c].push_back(source.parent.at(columns[c])[r]);
    }
    elements.weight.push_back(source.parent.weight[r] *
                              static_cast<double>(source.fibers[r].count));
  }
  Grouping grouping(columns);
  grouping.add(elements);
  return grouping.take();
}

/// True if no two rows of `parent` are equal in those of its columns that `columns` has too.
bool distinct_within(const Table& parent, const Columns& columns) {
  Columns kept;
  std::set_intersection(parent.columns.begin(), parent.columns.end(), columns.begin(),
                        columns.end(), std::back_inserter(kept));
  Grouping grouping(kept);
  grouping.add(parent);
  return grouping.take().rows() == parent.rows();
}

/// Each coordinate of a fiber is above the one before it.
bool ascending(const std::vector<uint32_t>& values, const std::vector<size_t>& offsets) {
  for (size_t r = 0; r + 1 < offsets.size(); ++r) {
    for (size_t e = offsets[r] + 1; e < offsets[r + 1]; ++e) {
      if (values[e] <= values[e - 1]) return false;
    }
  }
  return true;
}

}  // namespace

bool Relations::made_of_coordinates(int space, Column column) {
  const ColumnInfo info = s_.column(column);
  if (info.home != space) return true;
  if (info.kind != ColumnInfo::Kind::stream) return false;
  const Node& node = s_.node(graph_.streams[static_cast<size_t>(column)].producer);
  if (node.kind == NodeKind::locate) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Input& input) {
      return made_of_coordinates(space, s_.canonical[static_cast<size_t>(input.stream)]);
    });
  }
  if (joins_in_first_space(node.kind)) return false;
  switch (s_.info(space).opening) {
    case Opening::counted:
      return true;
    case Opening::scanned:
      return column == node.outputs[0] || node.tensor < 0;
    case Opening::computed:
    case Opening::merged:
      return !derived(space).payload.contains(column);
    case Opening::root:
    case Opening::moved:
      break;
  }
  return false;
}

Source Relations::source(int space, const Columns& columns) {
  const Table& parent = relation(s_.info(space).parent, needs(space, columns));
  Source result = {{}, ranges(space, parent), {}};
  const auto by_coordinates = [&](Column c) { return made_of_coordinates(space, c); };
  if (!are_long(result.fibers) || !std::all_of(columns.begin(), columns.end(), by_coordinates)) {
    result.parent = parent;
    return result;
  }
  Columns used;
  for (const Column c : columns) used = united(std::move(used), support(space, c));
  result.parent = only(parent, used);
  return merged(result);
}

const Table& Relations::relation(int space, const Columns& columns) {
  const std::pair<int, Columns> key(space, columns);
  const auto found = relations_.find(key);
  if (found != relations_.end()) return *found->second;
  auto table = std::make_unique<Table>();
  if (s_.info(space).opening == Opening::root) {
    table->columns = columns;
    table->weight = {1};
    for (const Column c : columns) {  // one element, with nothing around it
      table->values.push_back(evaluate(space, c, {}, {Range{nullptr, 0, 1, 0}}, {0, 1}));
    }
  } else {
    *table = grouped(space, columns);
  }
  return *relations_.emplace(key, std::move(table)).first->second;
}

Table Relations::grouped(int space, const Columns& columns) {
  const Source from = source(space, columns);
  const auto is_here = [&](Column c) { return s_.home(c) == space; };
  if (std::none_of(columns.begin(), columns.end(), is_here)) return counted(from, columns);
  // Rows below different rows differ; those of one fiber do where a column ascends along it.
  const bool apart =
      columns.size() > 1 && are_long(from.fibers) && distinct_within(from.parent, columns);
  Grouping grouping(columns);
  for_chunks(counts_of(from.fibers), [&](size_t first, size_t last) {
    const Expansion part = expand(space, from, columns, first, last);
    const bool differ = apart && std::any_of(columns.begin(), columns.end(), [&](Column c) {
                          return is_here(c) && ascending(part.table.at(c), part.offsets);
                        });
    differ ? grouping.append(part.table) : grouping.add(part.table);
  });
  return grouping.take();
}

}  // namespace fuseflow::estimate
