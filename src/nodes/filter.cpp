// filter: leaves out elements whose value is the fill.
#include <fmt/format.h>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// The first input decides, the others are filtered.
void type_filter(Typing& t) {
  if (t.inputs() < 2) return (void)t.fail("needs a value and its coordinates");
  if (!t.output_count(t.inputs() - 1) || !t.is_kind(0, StreamKind::val) ||
      !t.is_kind(1, StreamKind::crd)) {
    return;
  }
  const int from = t.space(0);
  if (t.parent(from) < 0) return (void)t.fail(fmt::format("{} is in no loop", t.type(t.in(0))));
  const int kept = t.open(t.parent(from), t.index(from));
  for (size_t i = 1; i < t.inputs(); ++i) {
    t.give_like(i - 1, t.in(i), kept);
  }
}

int carried_by_filter(const Node& /*node*/, size_t port) {
  return static_cast<int>(port) + 1;
}

Fiber fiber_of_filter(const Node& /*node*/, FiberNumbers& numbers, int /*loop*/) {
  const Fiber before = numbers.input(0);
  const double kept = numbers.kept();
  return kept < 1 ? expected_fiber(before.length * kept, numbers.whole()) : before;
}

}  // namespace

constinit const NodeRule filter_rule = {
    .name = "filter",
    .fields = NodeFields{.init = true},
    .family = NodeFamily::drop,
    .unit = UnitClass::filter,
    .typing = type_filter,
    .carried = carried_by_filter,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kSelects,
    .by_values = true,
    .holds = KeptState::nothing,
    .origins = origins::one_computed,
    .shaping = shaping::by_output,
    .fiber = fiber_of_filter,
    .elements = elements::of_first,
    .steps = steps::of_operands,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place::all_same,
    .exchange = exchanged::kExtension,
};

}  // namespace fuseflow
