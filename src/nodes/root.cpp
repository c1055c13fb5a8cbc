// root: the reference where a phase starts.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// All roots of a phase open the same space.
void type_root(Typing& t) {
  if (!t.counts(0, 1)) return;
  t.give(0, StreamKind::ref, t.open_counted(-1, -1, t.node().phase));
}

/// The reference, then done.
StepCounts steps_of_root(const NodeNumbers& /*n*/) {
  return {.steps = 2};
}

}  // namespace

constinit const NodeRule root_rule = {
    .name = "root",
    .fields = NodeFields{},
    .family = NodeFamily::root,
    .unit = UnitClass::root,
    .typing = type_root,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps_of_root,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place::anywhere,
    .exchange = exchanged::kOperation,
};

}  // namespace fuseflow
