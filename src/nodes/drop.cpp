// drop: leaves out outer elements whose inner fiber is empty.
#include <fmt/format.h>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// Where outer elements disappear, all spaces below them change their parent.
void type_drop(Typing& t) {
  const std::vector<int>& groups = t.node().groups;
  if (groups.size() != 2 || groups[0] < 1 || groups[1] < 1) {
    return (void)t.fail("needs outer inputs, `;`, inner inputs");
  }
  const auto outer_count = static_cast<size_t>(groups[0]);
  if (!t.output_count(t.inputs()) || !t.is_kind(0, StreamKind::crd)) return;
  const int outer = t.space(0);
  if (t.parent(outer) < 0 || !t.directly_below(outer_count, 0)) {
    if (t.parent(outer) < 0) t.fail(fmt::format("{} is in no loop", t.type(t.in(0))));
    return;
  }
  const int kept = t.open(t.parent(outer), t.index(outer), outer);
  for (size_t i = 0; i < t.inputs(); ++i) {
    if (i < outer_count) {
      if (!t.same_space(0, i)) return;
      t.give_like(i, t.in(i), kept);
      continue;
    }
    const int moved = t.move_below(t.space(i), outer, kept, false);
    if (moved < 0) {
      return (void)t.fail(fmt::format("{} is not nested below {}, expected a stream of its fibers",
                                      t.type(t.in(i)), t.type(t.in(0))));
    }
    t.give_like(i, t.in(i), moved);
  }
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

/// As if nothing were dropped.
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
    .holds = Holds::nothing,
    .origins = origins_of_drop,
    .shaping = shaping::by_output,
    .fiber = fiber_of_drop,
    .elements = elements_of_drop,
    .steps = steps_of_drop,
    .flops = flops::none,
    .bytes = bytes::none,
};

}  // namespace fuseflow
