// repeat: the token of an outer loop once for each element of the loop inside it.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

InputPlace place_in_repeat(const Node& /*node*/, size_t input) {
  return input == 1 ? InputPlace{InputPlace::Relation::directly_below, 0} : InputPlace{};
}

void type_repeat(Typing& t) {
  if (t.counts(2, 1)) t.give_like(0, t.in(0), t.space(1));
}

void elements_of_repeat(const Node& /*node*/, const ElementNumbers& numbers,
                        std::span<Elements> out) {
  out[0] = {numbers.input(1).count, numbers.input(0).fibers};
}

StepCounts steps_of_repeat(const NodeNumbers& n) {
  return {.steps = n.input(1).tokens()};
}

}  // namespace

constinit const NodeRule repeat_rule = {
    .name = "repeat",
    .fields = NodeFields{},
    .family = NodeFamily::move,
    .unit = UnitClass::repeat,
    .typing = type_repeat,
    .carried = carried::first,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::same_as_first,
    .shaping = shaping::all_if_any_output,
    .fiber = fiber::not_made,
    .elements = elements_of_repeat,
    .steps = steps_of_repeat,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place_in_repeat,
    .exchange = exchanged::kInSpace,  // of coordinates: Comal repeats references and values
};

}  // namespace fuseflow
