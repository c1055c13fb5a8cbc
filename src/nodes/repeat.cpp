// repeat: the token of an outer loop once for each element of the loop inside it.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

void type_repeat(Typing& t) {
  if (!t.counts(2, 1) || !t.directly_below(1, 0)) return;
  t.give_like(0, t.in(0), t.space(1));
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
};

}  // namespace fuseflow
