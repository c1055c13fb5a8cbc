// The exact counter's engine: for every space, which distinct rows of references and coordinates
// occur in it and how often. Equal rows are one row with a weight, so a sub-nest that is recomputed
// under many elements is counted once for each distinct coordinate it is bound to.
//
// relation(space, columns) asks the parent's relation for the columns that its fibers depend on,
// and expands each of its rows by one fiber. Fibers are those of a tensor's level, or computed once
// for each distinct row they depend on (joins, accumulators: derived.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "estimate/structure.h"
#include "estimate/table.h"
#include "sim/run.h"

namespace fuseflow::estimate {

/// A fiber: `count` elements, at positions first .. first + count - 1. Their coordinates are `base`
/// plus the position's entry of `crd`, or plus 0, 1, .. without it.
struct Range {
  const uint32_t* crd = nullptr;
  uint64_t first = 0;  ///< 64 bits: a counted loop may be longer than any stored level
  uint64_t count = 0;
  uint64_t base = 0;
  uint64_t coordinate(uint64_t k) const { return base + (crd == nullptr ? k : crd[k]); }
  bool whole(int64_t extent) const {
    return crd == nullptr && base == 0 && count == static_cast<uint64_t>(extent);
  }
};

/// A coordinate or position as tables hold them. Beyond 32 bits Error(unfinished): only the lengths
/// of such fibers can be counted, not their elements.
uint32_t table_value(uint64_t value);

/// One storage level as the counter reads it: bitvectors as lists.
struct LevelLists {
  LevelKind kind = LevelKind::dense;
  int64_t extent = 0;
  const std::vector<uint32_t>* pos = nullptr;
  const std::vector<uint32_t>* crd = nullptr;
  std::vector<uint32_t> bits;  ///< the list after crd of a bitvector
};

/// What a gallop does in a pair of fibers.
struct GallopCounts {
  bool entered = false;  ///< both are there
  double looks = 0;      ///< steps that look at coordinates
  double looked_at = 0;  ///< coordinates read in them
  double jumps = 0;
  double passed = 0;
};

/// Fibers that were computed, one for each row of `keys`.
struct DerivedFibers {
  Columns key;
  RowIndex index;
  std::vector<uint64_t> pos;  ///< rows + 1
  std::vector<uint32_t> crd;  ///< empty if only counts are known, or if fibers are whole or empty
  bool counts_only = false;
  bool whole = false;  ///< every fiber has all coordinates, or none
  int64_t extent = 0;
  std::map<Column, std::vector<uint32_t>> payload;  ///< by column of the space, by position
  std::vector<double> met;                          ///< joins: coordinates met, by row
  std::vector<GallopCounts> gallops;                ///< of a gallop, by row
  std::vector<uint32_t> copy;           ///< merged: which parallel copy an element comes from
  std::vector<uint32_t> copy_position;  ///< and its position there
};

/// Elements of fibers below the rows of a table, fiber after fiber.
struct Expansion {
  std::vector<size_t> offsets;  ///< rows of the parent + 1
  Table table;
};

/// What a space is expanded from: rows of its parent and the fiber below each.
struct Source {
  Table parent;
  std::vector<Range> fibers;
  /// By row of the parent's relation, where rows became one: its row here, kNoRow without elements.
  std::vector<uint32_t> row_of;
};

/// Bounds of the counter, beyond which it throws Error(unfinished): the caller falls back on
/// statistics.
struct Limits {
  size_t rows = size_t{1} << 28;  ///< of one table
  size_t all_rows = SIZE_MAX;     ///< that are made
};

class Relations {
 public:
  Relations(const Program& program, const Graph& graph, const TensorData& data,
            const Limits& limits = {});
  ~Relations();
  const Structure& structure() const { return s_; }
  /// The end of this object.
  Structure take_structure() { return std::move(s_); }
  /// Called for a tensor without data when its levels are needed: one that the graph writes in an
  /// earlier phase. The storage must outlive this object.
  std::function<const Storage*(TensorId)> missing;

  /// The distinct rows of `columns` in a space, with how often they occur.
  const Table& relation(int space, const Columns& columns);
  /// What the fibers of a space and the given columns of it depend on, in its parent.
  Columns needs(int space, const Columns& columns);
  /// The fibers of a space below each row of `parent`.
  std::vector<Range> ranges(int space, const Table& parent);
  Expansion expand(int space, const Table& parent, const Columns& columns);
  /// Only those of the rows [first, last) of parent.
  Expansion expand(int space, const Table& parent, const Columns& columns, size_t first,
                   size_t last);
  /// The rows of the parent with what `columns` are made of, and the fibers below them; rows from
  /// which the same elements come may be one, with the sum of their weights.
  Source source(int space, const Columns& columns);
  Expansion expand(int space, const Source& source, const Columns& columns, size_t first,
                   size_t last);
  /// Computed fibers of a space (Opening::computed).
  DerivedFibers& derived(int space);
  const LevelLists& level(TensorId tensor, int level);
  /// Coordinates of a storage level: of blocks, where the tensor has them.
  static int64_t extent(const Tensor& tensor, int level);
  static Table slice(const Table& table, size_t first, size_t last);
  /// Rows of all tables that were made until now.
  size_t rows_made() const { return rows_made_; }

 private:
  Table grouped(int space, const Columns& columns);
  /// True if a column depends on coordinates and on rows of the parent, but not on positions.
  bool made_of_coordinates(int space, Column column);
  Expansion expand(int space, const Table& parent, const std::vector<Range>& fibers,
                   const Columns& columns);
  Columns support(int space, Column column);
  Columns fiber_key(int space);
  std::vector<uint32_t> evaluate(int space, Column column, const Table& parent,
                                 const std::vector<Range>& ranges,
                                 const std::vector<size_t>& offsets);
  std::vector<uint32_t> evaluate_stream(int space, Column column, const Table& parent,
                                        const std::vector<Range>& ranges,
                                        const std::vector<size_t>& offsets);
  std::vector<uint32_t> evaluate_locate(int space, const Node& node, const Table& parent,
                                        const std::vector<Range>& ranges,
                                        const std::vector<size_t>& offsets);
  std::vector<uint32_t> evaluate_left(int space, Column column, const Node& node,
                                      const Table& parent, const std::vector<Range>& ranges,
                                      const std::vector<size_t>& offsets);
  /// The first input of the group of a left join that output `column` comes from, and that input.
  std::pair<StreamId, StreamId> joined_inputs(const Node& node, Column column) const;
  /// For each of the coordinates `to` of fibers, the value of `wanted` (1 if it is -1) at the
  /// element of `from` with the same coordinate; without one N (0).
  std::vector<uint32_t> look_across(const std::vector<uint32_t>& to,
                                    const std::vector<size_t>& offsets, StreamId from_crd,
                                    Column wanted, const Table& parent);
  std::vector<uint32_t> evaluate_moved(int space, Column column, const Table& parent,
                                       const std::vector<Range>& ranges,
                                       const std::vector<size_t>& offsets);
  std::vector<Range> scan_ranges(const Node& node, int64_t loop, const Table& parent);
  std::vector<Range> derived_ranges(int space, const Table& parent);
  Table before_move(int space, const Table& parent, const Columns& origin_columns);
  /// An align that made the move; null if a drop did.
  const Node* aligner(int move) const;
  Column presence_or_none(int move);

  friend class Deriver;
  const Program& program_;
  const Graph& graph_;
  const TensorData& data_;
  Limits limits_;
  size_t rows_made_ = 0;
  Structure s_;
  std::map<std::pair<int, Columns>, std::unique_ptr<Table>> relations_;
  std::map<int, std::unique_ptr<DerivedFibers>> derived_;
  std::map<std::pair<TensorId, int>, std::unique_ptr<LevelLists>> levels_;
};

}  // namespace fuseflow::estimate
