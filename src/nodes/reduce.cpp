// reduce: one value for each fiber of the innermost loop.
#include <fmt/format.h>

#include "graph/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// The parent's token, where it is taken, is that of the fiber.
InputPlace place_in_reduce(const Node& /*node*/, size_t input) {
  return input == 1 ? InputPlace{InputPlace::Relation::directly_below, 0} : InputPlace{};
}

void type_reduce(Typing& t) {
  const size_t inputs = t.inputs() == 1 ? 1 : 2;  // with the parent's token or without
  const size_t value = inputs - 1;
  if (!t.counts(inputs, 1) || !t.is_kind(value, StreamKind::val)) return;
  const int outer = t.parent(t.space(value));
  if (outer < 0) {
    return (void)t.fail(fmt::format("{} is in no loop that could end", t.type(t.in(value))));
  }
  t.give(0, StreamKind::val, outer);
}

/// The stop that ends a fiber gives the value, and the stop around it in the same step.
StepCounts steps_of_reduce(const NodeNumbers& n) {
  return {.steps = n.last_input().tokens()};
}

}  // namespace

/// One for each value, and one for each division of a mean.
double flops::of_reduction(const Graph& graph, const Node& node, double taken, double given) {
  const Stream& value = graph.streams[node.inputs.back().stream];
  const double values = taken * static_cast<double>(block_volume(graph, value.block));
  return node.reduction == Reduction::mean ? values + given : values;
}

constinit const NodeRule reduce_rule = {
    .name = "reduce",
    .fields = NodeFields{.reduction = true, .init = true},
    .family = NodeFamily::reduce,
    .unit = UnitClass::reduce,
    .typing = type_reduce,
    .carried = carried::none,
    .block = blocks::without_ended,
    .check_block = blocks::no_mean,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps_of_reduce,
    .flops = flops::of_reduction,
    .bytes = bytes::none,
    .place = place_in_reduce,
    .exchange = exchanged::kInSpace,
};

}  // namespace fuseflow
