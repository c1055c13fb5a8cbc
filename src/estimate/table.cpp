#include "estimate/table.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "support/defect.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

/// Slot of a value where the last slot stands for kAbsent (0xFFFFFFFF).
size_t slot(uint32_t value) {
  return static_cast<size_t>(static_cast<uint32_t>(value + 1));
}

/// Whether a list by value would be far longer than these rows, and than it is (`have`).
bool any_far(const std::vector<uint32_t>& values, size_t have) {
  constexpr size_t kShort = size_t{1} << 22;
  constexpr size_t kSparse = 64;
  const size_t most = std::max({kShort, have, kSparse * values.size()});
  return std::any_of(values.begin(), values.end(),
                     [&](uint32_t value) { return slot(value) >= most; });
}

/// Rows that differ only in the low bits of the last column go to neighbouring slots: rows mostly
/// come in order, and a table of millions is then read a cache line for eight of them.
constexpr unsigned kNeighbours = 3;

uint64_t hash_row(const std::vector<const uint32_t*>& columns, size_t row) {
  uint64_t h = 0x9e3779b97f4a7c15ULL;
  for (size_t c = 0; c < columns.size(); ++c) {
    const uint32_t value = columns[c][row];
    h = (h ^ (c + 1 == columns.size() ? value >> kNeighbours : value)) * 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 29;
  }
  return (h << kNeighbours) | (columns.back()[row] & ((1U << kNeighbours) - 1));
}

std::vector<const uint32_t*> pointers(const Table& table, const Columns& columns) {
  std::vector<const uint32_t*> result;
  result.reserve(columns.size());
  for (const Column column : columns) result.push_back(table.at(column).data());
  return result;
}

}  // namespace

Columns united(Columns a, const Columns& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

int Table::find(Column column) const {
  const auto found = std::lower_bound(columns.begin(), columns.end(), column);
  if (found == columns.end() || *found != column) return -1;
  return static_cast<int>(found - columns.begin());
}

const std::vector<uint32_t>& Table::at(Column column) const {
  const int i = find(column);
  if (i < 0) throw Defect("estimate: a column was not asked for");
  return values[static_cast<size_t>(i)];
}

void RowHash::place(Slot slot) {
  size_t s = slot.tag & mask();
  while (slots_[s].row != kNone) s = (s + 1) & mask();
  slots_[s] = slot;
}

void RowHash::reserve(size_t rows) {
  if (2 * rows <= slots_.size()) return;
  std::vector<Slot> old(std::bit_ceil(std::max<size_t>(64, 2 * rows)));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.row != kNone) place(slot);
  }
}

void RowHash::add(uint64_t hash, uint32_t row) {
  reserve(used_ + 1);
  place({row, tag(hash)});
  ++used_;
}

Grouping::Grouping(Columns columns) {
  out_.columns = std::move(columns);
  out_.values.resize(out_.columns.size());
}

void Grouping::add(const Table& table) {
  if (out_.columns.empty()) {
    double sum = 0;
    for (const double w : table.weight) sum += w;
    if (table.rows() == 0) return;
    if (out_.weight.empty()) out_.weight.push_back(0);
    out_.weight[0] += sum;
  } else if (out_.columns.size() == 1 && !(sparse_ = sparse_ || is_sparse(table))) {
    add_single(table);
  } else {
    add_many(table);
  }
}

/// Whether a list by value would be long for so few rows.
bool Grouping::is_sparse(const Table& table) const {
  const std::vector<uint32_t>& values = table.at(out_.columns[0]);
  return any_far(values, row_of_.size());
}

void Grouping::add_single(const Table& table) {
  const std::vector<uint32_t>& values = table.at(out_.columns[0]);
  for (size_t r = 0; r < values.size(); ++r) {
    const size_t s = slot(values[r]);
    if (s >= row_of_.size()) row_of_.resize(std::max(s + 1, row_of_.size() * 2), 0);
    if (row_of_[s] == 0) {
      out_.values[0].push_back(values[r]);
      out_.weight.push_back(0);
      row_of_[s] = static_cast<uint32_t>(out_.weight.size());
    }
    out_.weight[row_of_[s] - 1] += table.weight[r];
  }
}

void Grouping::append(const Table& table) {
  if (out_.columns.size() < 2) return add(table);
  for (size_t c = 0; c < out_.columns.size(); ++c) {
    const std::vector<uint32_t>& values = table.at(out_.columns[c]);
    out_.values[c].insert(out_.values[c].end(), values.begin(), values.end());
  }
  out_.weight.insert(out_.weight.end(), table.weight.begin(), table.weight.end());
}

void Grouping::hash_appended() {
  const std::vector<const uint32_t*> columns = pointers(out_, out_.columns);
  for (; hashed_ < out_.rows(); ++hashed_) {
    rows_.add(hash_row(columns, hashed_), static_cast<uint32_t>(hashed_));
  }
}

void Grouping::add_many(const Table& table) {
  hash_appended();
  const std::vector<const uint32_t*> columns = pointers(table, out_.columns);
  for (size_t r = 0; r < table.rows(); ++r) {
    const uint64_t h = hash_row(columns, r);
    const uint32_t found = rows_.find(h, [&](uint32_t row) {
      for (size_t c = 0; c < columns.size(); ++c) {
        if (out_.values[c][row] != columns[c][r]) return false;
      }
      return true;
    });
    if (found != RowHash::kNone) {
      out_.weight[found] += table.weight[r];
      continue;
    }
    rows_.add(h, static_cast<uint32_t>(hashed_++));
    for (size_t c = 0; c < columns.size(); ++c) out_.values[c].push_back(columns[c][r]);
    out_.weight.push_back(table.weight[r]);
  }
}

Table Grouping::take() {
  return std::move(out_);
}

void RowIndex::build(const Table& table) {
  columns_ = table.columns;
  rows_ = table.rows();
  keys_ = table.values;
}

bool RowIndex::is_same(const std::vector<const uint32_t*>& columns, size_t rows) const {
  if (rows != rows_) return false;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!std::equal(keys_[c].begin(), keys_[c].end(), columns[c])) return false;
  }
  return true;
}

void RowIndex::index() {
  if (indexed_) return;
  indexed_ = true;
  if (columns_.size() == 1) {
    by_value_ = !any_far(keys_[0], 0);
    for (size_t r = 0; by_value_ && r < rows_; ++r) {
      const size_t s = slot(keys_[0][r]);
      if (s >= direct_.size()) direct_.resize(std::max(s + 1, direct_.size() * 2), kNoRow);
      direct_[s] = static_cast<uint32_t>(r);
    }
    if (by_value_) return;
  }
  std::vector<const uint32_t*> columns;
  for (const auto& key : keys_) columns.push_back(key.data());
  hashed_.reserve(rows_);
  for (size_t r = 0; r < rows_; ++r) hashed_.add(hash_row(columns, r), static_cast<uint32_t>(r));
}

std::vector<uint32_t> RowIndex::find(const Table& table) {
  std::vector<uint32_t> result(table.rows(), rows_ == 0 ? kNoRow : 0);
  if (columns_.empty()) return result;
  const std::vector<const uint32_t*> columns = pointers(table, columns_);
  if (is_same(columns, table.rows())) {
    std::iota(result.begin(), result.end(), 0U);
    return result;
  }
  index();
  for (size_t r = 0; r < result.size(); ++r) {
    result[r] = kNoRow;
    if (columns_.size() == 1 && by_value_) {
      const size_t s = slot(columns[0][r]);
      if (s < direct_.size()) result[r] = direct_[s];
      continue;
    }
    result[r] = hashed_.find(hash_row(columns, r), [&](uint32_t row) {
      for (size_t c = 0; c < columns.size(); ++c) {
        if (keys_[c][row] != columns[c][r]) return false;
      }
      return true;
    });
  }
  return result;
}

}  // namespace fuseflow::estimate
