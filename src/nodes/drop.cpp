// drop: leaves out outer elements whose inner fiber is empty.
#include <fmt/format.h>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// The outer streams are in one space, the inner ones in one directly below it: each step takes a
/// token of all inner ones.
InputPlace place_in_drop(const Node& node, size_t input) {
  const auto inner = static_cast<size_t>(node.groups[0]);
  if (input == 0) return {};
  if (input == inner) return {InputPlace::Relation::directly_below, 0};
  return {InputPlace::Relation::same, input < inner ? 0 : inner};
}

/// Where outer elements disappear, the space below them changes its parent.
void type_drop(Typing& t) {
  const std::vector<int>& groups = t.node().groups;
  if (groups.size() != 2 || groups[0] < 1 || groups[1] < 1) {
    return (void)t.fail("needs outer inputs, `;`, inner inputs");
  }
  const auto outer_count = static_cast<size_t>(groups[0]);
  if (!t.output_count(t.inputs()) || !t.is_kind(0, StreamKind::crd)) return;
  const int outer = t.space(0);
  if (t.parent(outer) < 0) {
    return (void)t.fail(fmt::format("{} is in no loop", t.type(t.in(0))));
  }
  if (!t.placed()) return;
  const int kept = t.open(t.parent(outer), t.index(outer), outer);
  const int moved = t.move_below(t.space(outer_count), outer, kept, false);
  for (size_t i = 0; i < t.inputs(); ++i) t.give_like(i, t.in(i), i < outer_count ? kept : moved);
}

int carried_by_drop(const Node& /*node*/, size_t port) {
  return static_cast<int>(port);
}

size_t outer_inputs(const Node& node) {
  return static_cast<size_t>(node.groups[0]);
}

void origins_of_drop(const Node& node, FiberOrigins& origins) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i < outer_inputs(node)) {
      origins.computed(node.outputs[i], 0);
    } else {
      origins.moved(node.inputs[i].stream, node.outputs[i], node.inputs[0].stream, node.outputs[0],
                    false);
    }
  }
}

Fiber fiber_of_drop(const Node& node, FiberNumbers& numbers, int /*loop*/) {
  const double kept = numbers.input(outer_inputs(node)).nonempty;
  return expected_fiber(numbers.input(0).length * kept, numbers.whole());
}

/// Expected elements of a drop's outputs, as if nothing were dropped.
void elements_of_drop(const Node& node, const ElementNumbers& numbers, std::span<Elements> out) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out[i] = {numbers.input(i).count, numbers.input(0).fibers};
  }
}

StepCounts steps_of_drop(const NodeNumbers& n) {
  return {.steps = n.input(outer_inputs(n.node)).tokens()};
}

}  // namespace

constinit const NodeRule drop_rule = {
    .name = "drop",
    .fields = NodeFields{.groups = true},
    .family = NodeFamily::drop,
    .unit = UnitClass::filter,
    .typing = type_drop,
    .carried = carried_by_drop,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kSelects,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins_of_drop,
    .shaping = shaping::by_output,
    .fiber = fiber_of_drop,
    .elements = elements_of_drop,
    .steps = steps_of_drop,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place_in_drop,
    .exchange = exchanged::kExtension,
};

}  // namespace fuseflow
