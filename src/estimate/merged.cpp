// Fibers that parallel copies give and a serialize puts back into one stream. What they depend on
// is known outside of the copies: each copy answers for the elements that it knows. Part of the
// exact counter (derived.h).
#include <algorithm>

#include "estimate/derived.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

[[noreturn]] void not_followed() {
  throw Error(ExitCode::rejected,
              "the estimate does not follow this program: what its parallel copies give depends on "
              "streams that stay inside of them; simulate it instead (fuseflow-sim)");
}

}  // namespace

/// The positions outside of the copies of what space `home` of copy `p` has; -1: it is not merged.
Column Deriver::merged_positions(int home, size_t p) const {
  for (size_t w = 0; w < s_.space.size(); ++w) {
    const SpaceInfo& merged = s_.space[w];
    if (merged.opening == Opening::merged && p < merged.copies.size() && merged.copies[p] == home) {
      return s_.position_of(static_cast<int>(w));
    }
  }
  return -1;
}

/// What a column holds by the position of its element in the copy.
std::vector<uint32_t> Deriver::by_position(Column c) const {
  const int home = s_.home(c);
  const Column position = s_.position_of(home);
  const Table& table = r_.relation(home, united({position}, {c}));
  const std::vector<uint32_t>& at = table.at(position);
  const std::vector<uint32_t>& held = table.at(c);
  std::vector<uint32_t> values;
  std::vector<bool> known;
  for (size_t row = 0; row < at.size(); ++row) {
    if (at[row] >= values.size()) {
      values.resize(size_t{at[row]} + 1);
      known.resize(values.size());
    }
    if (known[at[row]] && values[at[row]] != held[row]) not_followed();
    known[at[row]] = true;
    values[at[row]] = held[row];
  }
  return values;
}

/// The column outside of the copies that column `c` of copy `p` is a part of; or the positions
/// there of the elements that it belongs to.
Column Deriver::outside(Column c, size_t p) const {
  if (s_.around(s_.home(c), info_.parent)) return c;
  for (const Node& node : s_.graph->nodes) {
    if (node.kind == NodeKind::parallelize && p < node.outputs.size() && node.outputs[p] >= 0 &&
        s_.canonical[static_cast<size_t>(node.outputs[p])] == c) {
      return s_.canonical[static_cast<size_t>(node.inputs[0].stream)];
    }
    if (node.kind == NodeKind::serialize && p < node.inputs.size() &&
        s_.canonical[static_cast<size_t>(node.inputs[p].stream)] == c) {
      // Repeated in the copies, and only whole further in: not of this space's parents.
      const Column whole = s_.canonical[static_cast<size_t>(node.outputs[0])];
      if (s_.around(s_.home(whole), info_.parent)) return whole;
    }
  }
  const Column merged = merged_positions(s_.home(c), p);
  if (merged < 0) not_followed();
  return merged;
}

/// The rows of `keys` that copy p may know, with its own columns; `rows` says which.
Table Deriver::inside(const Table& keys, const Columns& columns, size_t p,
                      std::vector<size_t>& rows) const {
  // Null: the column is no other inside.
  const auto merged_fibers = [&](Column c, Column out) {
    const bool positions = out != c && s_.column(out).kind == ColumnInfo::Kind::position;
    return positions ? &r_.derived(s_.column(out).home) : nullptr;
  };
  for (const Column c : columns) {
    const Column out = outside(c, p);
    const DerivedFibers* const merged = merged_fibers(c, out);
    if (merged == nullptr) continue;
    const std::vector<uint32_t>& at = keys.at(out);
    std::erase_if(rows, [&](size_t row) { return merged->copy[at[row]] != p; });
  }
  Table part;
  part.columns = columns;
  for (const Column c : columns) {
    const Column out = outside(c, p);
    const DerivedFibers* const merged = merged_fibers(c, out);
    const bool looked_up = merged != nullptr && s_.column(c).kind != ColumnInfo::Kind::position;
    const std::vector<uint32_t> held = looked_up ? by_position(c) : std::vector<uint32_t>{};
    std::vector<uint32_t>& values = part.values.emplace_back();
    for (const size_t row : rows) {
      const uint32_t value = keys.at(out)[row];
      const uint32_t position = merged == nullptr ? value : merged->copy_position[value];
      if (looked_up && position >= held.size()) not_followed();
      values.push_back(looked_up ? held[position] : position);
    }
  }
  for (const size_t row : rows) part.weight.push_back(keys.weight[row]);
  keep_those_of_copy(part, p, rows);
  return part;
}

/// Drops rows that the copy does not have: a scan would find fibers for those of all copies.
void Deriver::keep_those_of_copy(Table& part, size_t p, std::vector<size_t>& rows) const {
  if (part.columns.empty()) return;
  RowIndex index;
  index.build(r_.relation(s_.info(info_.copies[p]).parent, part.columns));
  const std::vector<uint32_t> found = index.find(part);
  const auto keep_known = [&](auto& values) {
    size_t kept = 0;
    for (size_t row = 0; row < found.size(); ++row) {
      if (found[row] != RowIndex::kNoRow) values[kept++] = values[row];
    }
    values.resize(kept);
  };
  for (std::vector<uint32_t>& values : part.values) keep_known(values);
  keep_known(part.weight);
  keep_known(rows);
}

void Deriver::merge() {
  for (const Node& node : s_.graph->nodes) {
    if (node.kind != NodeKind::serialize || s_.space_of(node.outputs[0]) != space_) continue;
    if (!s_.structural[static_cast<size_t>(node.outputs[0])]) continue;
    for (size_t p = 0; p < node.inputs.size(); ++p) {
      add_payload(node.outputs[0], p, s_.canonical[static_cast<size_t>(node.inputs[p].stream)]);
    }
  }
  const std::vector<int>& copies = info_.copies;
  Columns key;
  std::vector<Columns> needed;
  for (size_t p = 0; p < copies.size(); ++p) {
    needed.push_back(r_.needs(copies[p], sources(p)));
    for (const Column c : needed[p]) key = united(std::move(key), {outside(c, p)});
  }
  const Table& keys = r_.relation(info_.parent, key);
  start(keys);
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> owner(keys.rows(), kNone);  // the copy that has the row's fiber
  std::vector<size_t> local(keys.rows(), 0);      // and the fiber's number among those asked of it
  std::vector<std::vector<Range>> fibers(copies.size());
  std::vector<Expansion> elements(copies.size());
  for (size_t p = 0; p < copies.size(); ++p) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < owner.size(); ++row) {
      if (owner[row] == kNone) rows.push_back(row);
    }
    const Table part = inside(keys, needed[p], p, rows);
    fibers[p] = r_.ranges(copies[p], part);
    elements[p] = r_.expand(copies[p], part, sources(p));
    for (size_t r = 0; r < rows.size(); ++r) {
      if (fibers[p][r].count == 0) continue;
      owner[rows[r]] = p;
      local[rows[r]] = r;
    }
  }
  for (size_t row = 0; row < owner.size(); ++row) {
    if (owner[row] != kNone) take_fiber(owner[row], local[row], fibers, elements);
    close_row();
  }
}

void Deriver::take_fiber(size_t p, size_t r, const std::vector<std::vector<Range>>& fibers,
                         const std::vector<Expansion>& elements) {
  const Range& fiber = fibers[p][r];
  for (uint64_t k = 0; k < fiber.count; ++k) {
    out_.crd.push_back(table_value(fiber.coordinate(k)));
    out_.copy.push_back(static_cast<uint32_t>(p));
    out_.copy_position.push_back(table_value(fiber.first + k));
    for (const Payload& payload : payloads_) {
      const std::vector<uint32_t>& values = elements[p].table.at(payload.source[p]);
      out_.payload[payload.column].push_back(values[elements[p].offsets[r] + k]);
    }
  }
}

}  // namespace fuseflow::estimate
