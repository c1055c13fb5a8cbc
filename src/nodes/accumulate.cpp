// accumulate: sums over a loop and keeps the loops inside it, whose entries it gives when the loop
// ends.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// (parent<S>, crd<S,k>, crd<S,k,j1>, .., val<S,k,j1..jn>) -> crd<S,j1>, .., val<S,j1..jn>
void type_accumulate(Typing& t) {
  const auto order = static_cast<size_t>(t.node().order);
  if (t.node().order < 1) return (void)t.fail("has order 0, expected at least 1 (use reduce)");
  if (!t.counts(order + 3, order + 1)) return;
  for (size_t i = 1; i <= order + 1; ++i) {
    if (!t.is_kind(i, StreamKind::crd) || !t.directly_below(i, i - 1)) return;
  }
  if (!t.is_kind(order + 2, StreamKind::val) || !t.same_space(order + 1, order + 2)) return;
  int outer = t.space(0);
  for (size_t i = 0; i < order; ++i) {
    outer = t.open(outer, t.index(t.space(i + 2)));
    t.give(i, StreamKind::crd, outer);
  }
  t.give(order, StreamKind::val, outer);
}

std::vector<int> block_of_accumulate(const BlockRules& rules, const Node& node, size_t /*port*/) {
  return blocks::without_ended(rules, node, static_cast<size_t>(node.order));
}

}  // namespace

constinit const NodeRule accumulate_rule = {
    .name = "accumulate",
    .fields = NodeFields{.reduction = true, .order = true, .init = true, .capacity = true},
    .family = NodeFamily::reduce,
    .unit = UnitClass::accumulate,
    .typing = type_accumulate,
    .carried = carried::none,
    .block = block_of_accumulate,
    .check_block = blocks::no_mean,
};

}  // namespace fuseflow
