// Weighted tables: sets of rows over columns of references and coordinates, each row with the
// number of times it occurs. The currency of the exact counter; knows no nodes, tensors or
// machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
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

/// Collects rows; equal rows become one with the sum of their weights, in order of first
/// occurrence.
class Grouping {
 public:
  explicit Grouping(Columns columns);
  void add(const Table& table);
  Table take();

 private:
  void add_single(const Table& table);
  void add_many(const Table& table);

  Table out_;
  std::vector<uint32_t> row_of_;  ///< one column: value to row + 1 (the last slot: kAbsent)
  std::unordered_multimap<uint64_t, uint32_t> rows_;
};

/// Finds the row of a table with given keys (all rows differ).
class RowIndex {
 public:
  void build(const Table& table);
  /// The row for each row of `table` (which has at least these columns); kNoRow if there is none.
  std::vector<uint32_t> find(const Table& table) const;
  static constexpr uint32_t kNoRow = 0xFFFFFFFFU;

 private:
  Columns columns_;
  size_t rows_ = 0;
  std::vector<uint32_t> direct_;
  std::unordered_multimap<uint64_t, uint32_t> hashed_;
  std::vector<std::vector<uint32_t>> keys_;
};

}  // namespace fuseflow::estimate
