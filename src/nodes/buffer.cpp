// buffer: holds tokens.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

void type_buffer(Typing& t) {
  if (t.counts(1, 1)) t.give_like(0, t.in(0), t.space(0));
}

}  // namespace

constinit const NodeRule buffer_rule = {
    .name = "buffer",
    .fields = NodeFields{.capacity = true, .least = true},
    .family = NodeFamily::move,
    .unit = UnitClass::buffer,
    .typing = type_buffer,
    .carried = carried::first,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::tokens,
    .origins = origins::same_as_first,
    .shaping = shaping::all_if_any_output,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps::of_operands,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place::anywhere,
    .exchange = exchanged::kInSpace,
};

}  // namespace fuseflow
