// parallelize deals the elements of a loop out to copies; serialize puts what the copies give back
// in order.
#include <fmt/format.h>

#include <algorithm>

#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// Copy p of a split of a space is the same space for all payloads that are split alike.
void type_parallelize(Typing& t) {
  const bool contiguous = t.node().contiguous;
  const size_t inputs = contiguous ? 2 : 1;
  if (!t.counts(inputs, t.outputs())) return;
  if (inputs == 2 && !t.is_kind(1, StreamKind::crd)) return;
  if (t.outputs() < 2) return (void)t.fail("has fewer than two outputs, expected one a copy");
  const int from = t.space(0);
  if (t.parent(from) < 0) {
    return (void)t.fail(fmt::format("{} is in no loop to split", t.type(t.in(0))));
  }
  const auto copies = static_cast<int64_t>(t.outputs());
  for (int64_t p = 0; p < copies; ++p) {
    t.give_like(static_cast<size_t>(p), t.in(0), t.open_copy({from, copies, p, contiguous}));
  }
}

/// The inputs are the copies 0, 1, .. of one split, in order.
InputPlace place_in_serialize(const Node& /*node*/, size_t /*input*/) {
  return {InputPlace::Relation::copy, 0};
}

/// The inputs carry the same, as far as their declarations say.
bool alike(Typing& t) {
  const Spaces& spaces = t.spaces();
  const StreamId first = t.in(0);
  for (size_t p = 0; p < t.inputs(); ++p) {
    const StreamId other = t.in(p);
    if (t.stream(other).kind == t.stream(first).kind &&
        t.stream(other).indices == t.stream(first).indices &&
        spaces.ref_tensor[other] == spaces.ref_tensor[first] &&
        spaces.ref_level[other] == spaces.ref_level[first]) {
      continue;
    }
    return t.fail(
        fmt::format("{} and {} are not copies of one stream, expected the same "
                    "kind and loops",
                    t.type(first), t.type(other)));
  }
  return true;
}

/// The streams are `order` loops inside the copies of one split: the split loop becomes whole
/// again, and each loop inside it one loop for all streams merged alike.
void type_serialize(Typing& t) {
  if (t.inputs() < 2) return (void)t.fail("has fewer than two inputs, expected one a copy");
  if (!t.output_count(1) || !alike(t) || !t.placed()) return;
  std::vector<int> spaces;
  for (size_t p = 0; p < t.inputs(); ++p) spaces.push_back(t.space(p));
  std::vector<std::vector<int>> levels;  // spaces of the copies, innermost loop first
  for (int inside = 0; inside < t.node().order; ++inside) {
    levels.push_back(spaces);
    for (int& s : spaces) s = t.parent(s);
  }
  const Typing::Split split = *t.split_of(spaces[0]);
  if (split.contiguous != t.node().contiguous) {
    return (void)t.fail("merges in another way than the elements were dealt out (split=)");
  }
  int merged = split.from;
  for (size_t l = levels.size(); l-- > 0;) merged = t.open_merged(merged, levels[l]);
  bool absent = false;
  for (size_t p = 0; p < t.inputs(); ++p) absent = absent || t.may_be_absent(p);
  t.give_like(0, t.in(0), merged, absent);
}

/// Elements are dealt out evenly.
Fiber fiber_of_copy(const Node& node, FiberNumbers& numbers, int /*loop*/) {
  const auto copies = static_cast<double>(node.outputs.size());
  const Fiber dealt = numbers.input(0);
  return expected_fiber(dealt.length / copies, std::max(dealt.length, 1.0) / copies);
}

void origins_of_serialize(const Node& /*node*/, FiberOrigins& origins) {
  origins.merged();
}

StepCounts steps_of_serialize(const NodeNumbers& n) {
  return {.steps = n.output(0).tokens()};
}

}  // namespace

constinit const NodeRule parallelize_rule = {
    .name = "parallelize",
    .fields = NodeFields{.split = true},
    .family = NodeFamily::split,
    .unit = UnitClass::split,
    .typing = type_parallelize,
    .carried = carried::first,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::one_computed,
    .shaping = shaping::all_if_any_output,
    .fiber = fiber_of_copy,
    .elements = elements::of_first,
    .steps = steps::of_operands,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place::all_same,
    .exchange = ExchangeForm{.refused = "copies of a part of the graph have no form"},
};

constinit const NodeRule serialize_rule = {
    .name = "serialize",
    .fields = NodeFields{.split = true, .inner = true},
    .family = NodeFamily::split,
    .unit = UnitClass::split,
    .typing = type_serialize,
    .carried = carried::first,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins_of_serialize,
    .shaping = shaping::all_if_any_output,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps_of_serialize,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place_in_serialize,
    .exchange = ExchangeForm{.refused = "copies of a part of the graph have no form"},
};

}  // namespace fuseflow
