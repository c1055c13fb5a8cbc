// align: the fibers below one loop's elements, under other coordinates of the same loop.
#include <algorithm>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

constexpr size_t kTo = 0;
constexpr size_t kFrom = 1;
constexpr size_t kMoved = 2;

InputPlace place_in_align(const Node& /*node*/, size_t input) {
  if (input == kFrom) return {InputPlace::Relation::beside, kTo};
  return input == kMoved ? InputPlace{InputPlace::Relation::below, kFrom} : InputPlace{};
}

void type_align(Typing& t) {
  if (!t.counts(3, 1) || !t.is_kind(kTo, StreamKind::crd) || !t.is_kind(kFrom, StreamKind::crd) ||
      !t.placed()) {
    return;
  }
  t.give_like(0, t.in(kMoved), t.move_below(t.space(kMoved), t.space(kFrom), t.space(kTo), true));
}

int carried_by_align(const Node& /*node*/, size_t /*port*/) {
  return kMoved;
}

/// Coordinates to go to wait for nobody while there is nothing to move.
bool apart_in_align(const Node& /*node*/, size_t /*a*/, size_t b) {
  return b == kTo;
}

void origins_of_align(const Node& node, FiberOrigins& origins) {
  origins.moved(node.inputs[kMoved].stream, node.outputs[0], node.inputs[kFrom].stream,
                node.inputs[kTo].stream, true);
}

void elements_of_align(const Node& /*node*/, const ElementNumbers& numbers,
                       std::span<Elements> out) {
  const double share =
      std::min(1.0, numbers.input(kTo).count / std::max(1.0, numbers.input(kFrom).count));
  out[0] = {numbers.input(kMoved).count * share, numbers.input(kTo).fibers};
}

/// Its tokens, and an empty fiber for each element that only the new coordinates have.
StepCounts steps_of_align(const NodeNumbers& n) {
  return {.steps = n.input(kMoved).tokens() +
                   std::max(0.0, n.input(kTo).elements - n.input(kFrom).elements)};
}

}  // namespace

constinit const NodeRule align_rule = {
    .name = "align",
    .fields = NodeFields{},
    .family = NodeFamily::move,
    .unit = UnitClass::join,
    .typing = type_align,
    .carried = carried_by_align,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = NodeWaits{.selects = false, .looks_ahead = false, .apart = apart_in_align},
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins_of_align,
    .shaping = shaping::all_inputs,
    .fiber = fiber::not_made,
    .elements = elements_of_align,
    .steps = steps_of_align,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place_in_align,
    .exchange = exchanged::kExtension,
};

}  // namespace fuseflow
