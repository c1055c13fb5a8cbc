// Weighted tables: sets of rows over columns of references and coordinates, each row with the
// number of times it occurs. The currency of the exact counter; knows no nodes, tensors or
// machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuseflow::estimate {

/// A column: what it holds is in structure.h (ids below the number of streams are streams).
using Column = int;
using Columns = std::vector<Column>;  ///< sorted, all different
Columns united(Columns a, const Columns& b);

struct Table {
  Columns columns;
  std::vector<std::vector<uint32_t>> values;  ///< by column, then row
  std::vector<double> weight;                 ///< by row; integers below 2^53

  size_t rows() const { return weight.size(); }
  int find(Column column) const;  ///< position in `columns`, -1 if it is not there
  const std::vector<uint32_t>& at(Column column) const;  ///< throws Error(internal)
};

/// A hash table of row numbers: open addressing, so that a look-up is one access to memory. The
/// caller says which rows are equal.
class RowHash {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFU;
  /// The row with this hash for which `same(row)`; kNone if there is none.
  template <typename Same>
  uint32_t find(uint64_t hash, const Same& same) const {
    if (slots_.empty()) return kNone;
    for (size_t s = hash & mask();; s = (s + 1) & mask()) {
      if (slots_[s].row == kNone) return kNone;
      if (slots_[s].tag == tag(hash) && same(slots_[s].row)) return slots_[s].row;
    }
  }
  void add(uint64_t hash, uint32_t row);
  /// Room for so many rows in all.
  void reserve(size_t rows);

 private:
  struct Slot {
    uint32_t row = kNone;
    uint32_t tag = 0;
  };
  /// The low half of the hash: also where a row goes when the table grows.
  static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash); }
  size_t mask() const { return slots_.size() - 1; }
  void place(Slot slot);

  std::vector<Slot> slots_;  ///< a power of two, at most half full
  size_t used_ = 0;
};

/// Collects rows; equal rows become one with the sum of their weights, in order of first
/// occurrence.
class Grouping {
 public:
  explicit Grouping(Columns columns);
  void add(const Table& table);
  /// Adds rows of which each differs from the others and from all there are.
  void append(const Table& table);
  Table take();

 private:
  bool is_sparse(const Table& table) const;
  void add_single(const Table& table);
  void add_many(const Table& table);
  void hash_appended();

  Table out_;
  std::vector<uint32_t> row_of_;  ///< one column: value to row + 1 (the last slot: kAbsent)
  bool sparse_ = false;           ///< one column: its values are far apart, so rows are hashed
  RowHash rows_;
  size_t hashed_ = 0;  ///< rows in rows_: those that were appended are hashed when others are added
};

/// Finds the row of a table with given keys (all rows differ). Hashes them when another table is
/// looked up than the same one.
class RowIndex {
 public:
  void build(const Table& table);
  /// The row for each row of `table` (which has at least these columns); kNoRow if there is none.
  std::vector<uint32_t> find(const Table& table);
  static constexpr uint32_t kNoRow = RowHash::kNone;

 private:
  bool is_same(const std::vector<const uint32_t*>& columns, size_t rows) const;
  void index();

  Columns columns_;
  size_t rows_ = 0;
  bool indexed_ = false;
  bool by_value_ = true;  ///< one column: rows are listed in direct_
  std::vector<uint32_t> direct_;
  RowHash hashed_;
  std::vector<std::vector<uint32_t>> keys_;
};

}  // namespace fuseflow::estimate
