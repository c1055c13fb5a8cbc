// What an expression is over a domain: a value for every point, or for the present ones of some
// loops (a pattern), with a fill for all others.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "reference/array.h"
#include "reference/watch.h"

namespace fuseflow::reference {

/// Coordinates at which something may differ from its fill: numbers of points in row-major order
/// of `loops` (ascending) over the domain; sorted and distinct.
struct Pattern {
  Loops loops;
  std::vector<int64_t> extents;  ///< of the loops
  std::vector<int64_t> points;

  int64_t size() const { return static_cast<int64_t>(points.size()); }
  /// The position of a point; -1 if it is absent.
  int64_t find(int64_t point) const;
  /// The number of the point at `at`, by IndexId.
  int64_t number(const std::vector<int64_t>& at) const;
  /// Sets `at`, by IndexId, for the loops.
  void locate(int64_t point, std::vector<int64_t>& at) const;
};
using PatternPtr = std::shared_ptr<const Pattern>;

PatternPtr make_pattern(const Domain& domain, Loops loops, std::vector<int64_t> points);

/// The pattern seen by some of its loops, and which of its points each point became.
struct Projection {
  PatternPtr pattern;
  std::vector<int64_t> position;
};
Projection project(const Domain& domain, const Pattern& pattern, const Loops& loops);

/// Every point of any of the patterns, as seen by the loops that they share; null: no loop is
/// shared, so that everything is present.
PatternPtr unite(const Domain& domain, const std::vector<PatternPtr>& patterns);

/// Present point p of the pattern (0: no pattern, everything is present) has the value
/// values[base + p * row + sum of strides[i] * index i]; absent ones have the fill. `bounds`, where
/// given, lie as the values do: how far rounding may move each.
struct Table {
  std::shared_ptr<const std::vector<float>> values;
  std::shared_ptr<const std::vector<float>> bounds;
  int64_t base = 0;
  std::vector<int64_t> strides;  ///< per index of the statement; 0 for loops of the pattern
  PatternPtr present;
  int64_t row = 0;
  float fill = 0;
  float fill_bound = 0;
  TensorId tensor = -1;  ///< the values are all those of this tensor
  bool fixed = false;    ///< as Value::fixed

  bool exact() const { return bounds == nullptr && fill_bound == 0; }
  View view() const { return {values->data(), base, strides}; }
};

/// Bounds that are all 0 are none.
std::shared_ptr<const std::vector<float>> unless_zero(
    const std::shared_ptr<const std::vector<float>>& bounds);

/// A row-major table over `loops`, everything present.
Table dense_table(const Domain& domain, const Loops& loops,
                  std::shared_ptr<const std::vector<float>> values,
                  std::shared_ptr<const std::vector<float>> bounds = nullptr);

/// A table over the pattern, and row-major over `dense` at each of its points.
Table sparse_table(const Domain& domain, PatternPtr pattern, const Loops& dense,
                   std::shared_ptr<const std::vector<float>> values, float fill);

/// The table with everything present; `loops` are all that it depends on.
Table spell_out(const Table& table, const Loops& loops, const Domain& domain, Watch& watch);

/// The table, spelled out where walking its pattern does not pay.
Table settle(Table table, const Loops& loops, const Domain& domain, Watch& watch);

/// Reads a table at the points of a pattern, and at each of these over the loops `dense`.
class Gather {
 public:
  Gather(const Table& table, const Pattern& walk, const Loops& dense, const Domain& domain);
  /// Rows of points first to last - 1, one after another; `bounds` may be null.
  void read(int64_t first, int64_t last, float* values, float* bounds);

 private:
  void read_row(int64_t base, float*& values, float*& bounds) const;
  void read_fill(float*& values, float*& bounds) const;
  void read_points(int64_t base, float*& values, float*& bounds);

  const Table& table_;
  const Pattern& walk_;
  const Loops& dense_;
  const Domain& domain_;
  int64_t row_;
  bool same_;         // the table is present where the walk is
  bool row_present_;  // the walk's loops decide whether the table is present
  std::vector<int64_t> at_;
};

}  // namespace fuseflow::reference
