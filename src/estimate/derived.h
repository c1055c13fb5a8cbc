// Computes the fibers that joins, accumulators, filters and splits open, once for each distinct row
// of what they depend on. Part of the exact counter (relations.h).
#pragma once

#include <functional>

#include "estimate/relations.h"

namespace fuseflow::estimate {

/// Coordinates that two fibers of a loop of `extent` have both.
uint64_t common_coordinates(const Range& a, const Range& b, int64_t extent);

class Deriver {
 public:
  Deriver(Relations& relations, int space)
      : r_(relations),
        s_(relations.s_),
        space_(space),
        info_(relations.s_.info(space)),
        node_(relations.s_.node(info_.opener)) {}
  DerivedFibers run();

 private:
  /// A payload of the space, and the column it is taken from in each space that is joined (-1: not
  /// from that one).
  struct Payload {
    Column column = -1;
    std::vector<Column> source;
  };
  using Keep = std::function<bool(uint32_t coordinate, size_t element)>;

  void start(const Table& keys);
  void close_row();
  void add_payload(Column column, size_t group, Column source);
  Columns sources(size_t group) const;
  Columns wanted_below() const;
  /// The move that the drop makes.
  int dropped() const { return s_.move_of(space_, s_.space_of(node_.inputs[0].stream), -1); }

  void join(const std::vector<int>& groups);
  void collect_join_payloads();
  void count_row(const Range& a, const Range& b);
  void merge_row(size_t row, const std::vector<std::vector<Range>>& fibers,
                 const std::vector<Expansion>& elements);
  bool keeps(size_t having, bool first) const;

  void accumulate();
  void accumulate_one();
  void unite(int ending, int loop, const Columns& below);
  void unite_row(const std::vector<Range>& fibers, size_t first, size_t last, int64_t extent);
  void accumulate_tuples();
  int ended_loop(int i) const;
  bool is_counted(int space) const;
  void give_whole();
  int tuple_length() const;
  std::vector<uint64_t> distinct_tuples(const Table& table) const;
  static std::vector<uint64_t> sorted_by_marks(const std::vector<uint64_t>& tuples,
                                               uint64_t numbers);
  void add_tuples(const std::vector<uint64_t>& tuples, size_t first, size_t last, size_t depth);

  void merge();
  Column merged_positions(int home, size_t p) const;
  std::vector<uint32_t> by_position(Column c) const;
  Column outside(Column c, size_t p) const;
  Table inside(const Table& keys, const Columns& columns, size_t p,
               std::vector<size_t>& rows) const;
  void keep_those_of_copy(Table& part, size_t p, std::vector<size_t>& rows) const;
  void take_fiber(size_t p, size_t r, const std::vector<std::vector<Range>>& fibers,
                  const std::vector<Expansion>& elements);

  void gallop();
  Range listed(TensorId tensor, int level, uint32_t reference);

  void filter();
  void split();
  void drop();
  void keep_some(int from, const Columns& columns,
                 const std::function<Keep(const Expansion&)>& rule);

  /// One loop of the tuples of an accumulator.
  struct TupleLoop {
    Column column = -1;  ///< its coordinates; -1: a free loop
    int64_t extent = 0;
    int64_t counted = 0;
  };

  Relations& r_;
  Structure& s_;
  int space_;
  SpaceInfo info_;
  const Node& node_;
  DerivedFibers out_;
  std::vector<Payload> payloads_;
  std::vector<uint64_t> marks_;  ///< unite_row: a bit a coordinate
  std::vector<uint32_t> touched_;
  std::vector<TupleLoop> digits_;  ///< accumulate_tuples: the loops down to this space's
};

}  // namespace fuseflow::estimate
