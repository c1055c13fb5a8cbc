// accumulate: sums over a loop and keeps the loops inside it, whose entries it gives when the loop
// ends.
#include <algorithm>
#include <cmath>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// Each input is one loop inside the one before; the value goes with the innermost coordinates.
InputPlace place_in_accumulate(const Node& node, size_t input) {
  if (input == 0) return {};
  const bool value = input == static_cast<size_t>(node.order) + 2;
  return {value ? InputPlace::Relation::same : InputPlace::Relation::directly_below, input - 1};
}

/// (parent<S>, crd<S,k>, crd<S,k,j1>, .., val<S,k,j1..jn>) -> crd<S,j1>, .., val<S,j1..jn>
void type_accumulate(Typing& t) {
  const auto order = static_cast<size_t>(t.node().order);
  if (t.node().order < 1) return (void)t.fail("has order 0, expected at least 1 (use reduce)");
  if (!t.counts(order + 3, order + 1)) return;
  for (size_t i = 1; i <= order + 1; ++i) {
    if (!t.is_kind(i, StreamKind::crd)) return;
  }
  if (!t.is_kind(order + 2, StreamKind::val) || !t.placed()) return;
  int outer = t.space(0);
  for (size_t i = 0; i < order; ++i) {
    outer = t.open(outer, t.index(t.space(i + 2)));
    t.give(i, StreamKind::crd, outer);
  }
  t.give(order, StreamKind::val, outer);
}

void origins_of_accumulate(const Node& node, FiberOrigins& origins) {
  for (int loop = 0; loop < node.order; ++loop) {
    origins.computed(node.outputs[loop], loop);
  }
}

/// The coordinates.
void shaping_of_accumulate(const Node& node, ShapingInputs& inputs) {
  for (size_t i = 1; i < static_cast<size_t>(node.order) + 2; ++i) {
    inputs.add(node.inputs[i].stream);
  }
}

Fiber fiber_of_accumulate(const Node& /*node*/, FiberNumbers& numbers, int loop) {
  return numbers.united(loop);
}

/// Each loop's coordinates are spread evenly; those of the outermost come together from all rounds
/// of the loop that ends.
void elements_of_accumulate(const Node& node, const ElementNumbers& numbers,
                            std::span<Elements> out) {
  const double parents = std::max(1.0, numbers.input(0).count);
  const double rounds = numbers.input(1).count / parents;
  double outer = parents;
  double outer_in = numbers.input(1).count;
  for (size_t j = 0; j + 1 < node.outputs.size(); ++j) {
    const double extent = numbers.extent(j);
    const double in = numbers.input(j + 2).count;
    const double p = std::min(1.0, in / std::max(1.0, outer_in * extent));
    const double merged = j == 0 ? 1 - std::pow(1 - p, std::max(rounds, 0.0)) : p;
    outer_in = in;
    outer *= extent * merged;
    out[j] = {outer, j == 0 ? numbers.input(0).count : out[0].count};
  }
  out.back() = {outer, out[0].count};
}

/// The step that takes the stop of the flush is counted with the closing stop; the first entry
/// comes in its step. With several loops the ends of inner fibers are steps, too.
StepCounts steps_of_accumulate(const NodeNumbers& n) {
  const double entries = n.output(n.node.outputs.size() - 1).elements;
  double flushed = entries;
  for (int i = 1; i < n.node.order; ++i) {
    const SpaceCount& loop = n.output(static_cast<size_t>(i));
    flushed += std::max(0.0, loop.nonempty - n.output(0).nonempty);
  }
  // A stop has one for each boundary but the first that closes an element's fiber.
  double outer = 0;
  for (int i = 1; i <= n.node.order; ++i) outer += n.input(static_cast<size_t>(i)).nonempty;
  return {.steps = n.last_input().tokens(),
          .outer_stops = outer,
          .flushed = flushed,
          .least_flushed = entries};
}

}  // namespace

constinit const NodeRule accumulate_rule = {
    .name = "accumulate",
    .fields = NodeFields{.reduction = true, .order = true, .init = true, .capacity = true},
    .family = NodeFamily::reduce,
    .unit = UnitClass::accumulate,
    .typing = type_accumulate,
    .carried = carried::none,
    .block = blocks::without_ended,
    .check_block = blocks::no_mean,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::entries,
    .origins = origins_of_accumulate,
    .shaping = shaping_of_accumulate,
    .fiber = fiber_of_accumulate,
    .elements = elements_of_accumulate,
    .steps = steps_of_accumulate,
    .flops = flops::of_reduction,
    .bytes = bytes::none,
    .place = place_in_accumulate,
    .exchange = exchanged::kExtension,
};

}  // namespace fuseflow
