// What a filter drops without knowing values: elements whose value follows from absent operands.
// Part of the exact counter.
#pragma once

#include <vector>

#include "estimate/structure.h"

namespace fuseflow::estimate {

class FilterRule {
 public:
  FilterRule(const Structure& structure, const Node& filter);

  /// Columns of the references whose absence decides.
  const std::vector<Column>& references() const { return references_; }
  /// Whether an element is dropped when exactly the references of `absent` (a bit each) are N and
  /// all that is not known is taken to be finite and, but for comparisons, not zero.
  bool drops(uint32_t absent) const { return drops_[absent]; }
  /// The value is what a rectifier gives: zero about every other time.
  bool halves() const { return halves_; }

 private:
  void collect(StreamId value, int depth);
  Operand evaluate(StreamId value, uint32_t absent, int depth) const;
  StreamId source(StreamId value) const;
  static Operand entry(const Tensor& tensor, Operand unknown);

  const Structure& s_;
  std::vector<Column> references_;
  std::vector<bool> drops_;
  bool halves_ = false;
};

}  // namespace fuseflow::estimate
