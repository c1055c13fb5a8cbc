// Affine functions of region indices: what a statement's index or an access's subscript becomes
// when the statement is inlined into a region. Knows nothing of tensors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// offset + sum of factor * region index; terms sorted by index, factors not 0.
struct Affine {
  std::vector<std::pair<int, int64_t>> terms;
  int64_t offset = 0;

  static Affine of_index(int index) { return {{{index, 1}}, 0}; }
  bool is_plain() const { return terms.size() == 1 && terms[0].second == 1 && offset == 0; }
  bool is_shift() const { return terms.size() == 1 && terms[0].second == 1; }
  int plain() const { return terms[0].first; }
  bool contains(int index) const {
    return std::any_of(terms.begin(), terms.end(), [&](const auto& t) { return t.first == index; });
  }
  /// this += factor * other
  void add(const Affine& other, int64_t factor);
  bool operator<(const Affine& other) const {
    return std::tie(terms, offset) < std::tie(other.terms, other.offset);
  }
  bool operator==(const Affine&) const = default;
};

/// A subscript over a statement's indices, with each index replaced by what it is mapped to.
Affine substitute(const Subscript& subscript, const std::vector<Affine>& map);

/// Least and greatest value, given the extents of all region indices (each index is 0 .. extent-1).
std::pair<int64_t, int64_t> range_of(const Affine& affine, const std::vector<int64_t>& extents);

}  // namespace fuseflow
