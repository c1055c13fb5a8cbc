#include "reference/walk.h"

#include <algorithm>
#include <cmath>

namespace fuseflow::reference {

namespace {

/// The operator's operands as the calculus sees them, absent (a fill) or present (facts).
class Calculus {
 public:
  Calculus(Op op, std::span<const Table> operands, const FactsOf& facts) : op_(op) {
    for (size_t c = 0; c < operands.size(); ++c) {
      const Table& table = operands[c];
      const bool one = table.present == nullptr && table.values->size() == 1 && table.exact();
      present_.push_back({one ? std::optional(table.values->front()) : std::nullopt, {}});
      absent_.push_back({table.fill, {}});
      if (!one) present_.back().facts = facts(table);
      if (table.present != nullptr) sparse |= 1U << c;
    }
  }

  /// The result where the operands in the set `present`, and those that are everywhere, have any
  /// value; none if it is not one constant.
  std::optional<float> result(unsigned present) const {
    std::vector<Operand> operands;
    for (size_t c = 0; c < present_.size(); ++c) {
      const bool absent = ((sparse & ~present) >> c & 1U) != 0;
      operands.push_back(absent ? absent_[c] : present_[c]);
    }
    return constant_result(op_, operands);
  }

  unsigned sparse = 0;  ///< operands that may be absent

 private:
  Op op_;
  std::vector<Operand> present_, absent_;
};

}  // namespace

std::optional<Walk> choose_walk(Op op, std::span<const Table> operands, const FactsOf& facts,
                                const Loops& loops, const Domain& domain) {
  const auto absent = [](const Table& table) { return table.present != nullptr; };
  if (std::none_of(operands.begin(), operands.end(), absent)) return std::nullopt;
  // Facts of values that may move say nothing of where they move to.
  const auto moves = [](const Table& table) { return table.fill_bound != 0; };
  if (std::any_of(operands.begin(), operands.end(), moves)) return std::nullopt;
  const Calculus calculus(op, operands, facts);
  const auto fill = calculus.result(0);
  if (!fill) return std::nullopt;

  const auto work = [&](size_t c) {
    const Pattern& pattern = *operands[c].present;
    const auto dense = static_cast<double>(domain.size(without(loops, pattern.loops)));
    return static_cast<double>(pattern.size()) * dense;
  };
  // For each minimal set of operands that makes a difference, one of its operands covers all
  // points.
  std::vector<unsigned> minimal;
  std::vector<PatternPtr> covers;
  for (unsigned set = 0; set < 1U << operands.size(); ++set) {
    if ((set & ~calculus.sparse) != 0) continue;
    const auto smaller = [&](unsigned other) { return (other & set) == other; };
    if (std::any_of(minimal.begin(), minimal.end(), smaller)) continue;
    const auto value = calculus.result(set);
    if (value && same_value(*value, *fill)) continue;
    minimal.push_back(set);
    size_t best = operands.size();
    for (size_t c = 0; c < operands.size(); ++c) {
      if ((set >> c & 1U) == 0) continue;
      if (best == operands.size() || work(c) < work(best)) best = c;
    }
    covers.push_back(operands[best].present);
  }
  if (covers.empty()) {  // it is the fill everywhere
    const auto sparse = std::find_if(operands.begin(), operands.end(), absent);
    return Walk{make_pattern(domain, sparse->present->loops, {}), *fill};
  }
  const PatternPtr pattern = unite(domain, covers);
  if (pattern == nullptr) return std::nullopt;
  return Walk{pattern, *fill};
}

Facts facts_of(std::span<const float> values) {
  Facts facts{true, true, true, true, true};
  for (const float value : values) {
    facts.finite = facts.finite && std::isfinite(value);
    facts.no_nan = facts.no_nan && !std::isnan(value);
    facts.nonnegative = facts.nonnegative && value >= 0;
    facts.nonzero = facts.nonzero && value != 0;
    facts.below_inf = facts.below_inf && value < INFINITY;
  }
  return facts;
}

}  // namespace fuseflow::reference
