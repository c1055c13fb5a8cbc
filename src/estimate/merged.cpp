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

/// The column outside of the copies that column `c` of copy `p` is a part of.
Column Deriver::outside(Column c, size_t p) const {
  if (s_.around(s_.home(c), info_.parent)) return c;
  const ColumnInfo& column = s_.column(c);
  if (column.kind == ColumnInfo::Kind::position) {
    for (size_t w = 0; w < s_.space.size(); ++w) {
      const SpaceInfo& merged = s_.space[w];
      if (merged.opening == Opening::merged && p < merged.copies.size() &&
          merged.copies[p] == column.home) {
        return s_.position_of(static_cast<int>(w));
      }
    }
  }
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
  not_followed();
}

/// The rows of `keys` that copy p may know, with its own columns; `rows` says which.
Table Deriver::inside(const Table& keys, const Columns& columns, size_t p,
                      std::vector<size_t>& rows) const {
  for (const Column c : columns) {
    const Column out = outside(c, p);
    if (out == c || s_.column(out).kind != ColumnInfo::Kind::position) continue;
    const DerivedFibers& merged = r_.derived(s_.column(out).home);
    const std::vector<uint32_t>& at = keys.at(out);
    std::erase_if(rows, [&](size_t row) { return merged.copy[at[row]] != p; });
  }
  Table part;
  part.columns = columns;
  for (const Column c : columns) {
    const Column out = outside(c, p);
    const bool position = out != c && s_.column(out).kind == ColumnInfo::Kind::position;
    const DerivedFibers* merged = position ? &r_.derived(s_.column(out).home) : nullptr;
    std::vector<uint32_t>& values = part.values.emplace_back();
    for (const size_t row : rows) {
      const uint32_t value = keys.at(out)[row];
      values.push_back(merged == nullptr ? value : merged->copy_position[value]);
    }
  }
  for (const size_t row : rows) part.weight.push_back(keys.weight[row]);
  return part;
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
