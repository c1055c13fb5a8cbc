// pad: a block with its dimensions as the output declares them.
#include "nodes/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// The coordinates are of the value's space or of loops around it.
InputPlace place_in_pad(const Node& /*node*/, size_t input) {
  return input == 0 ? InputPlace{} : InputPlace{InputPlace::Relation::around, 0};
}

void type_pad(Typing& t) {
  if (t.inputs() == 0) return (void)t.fail("has no input, expected a value");
  if (!t.is_kind(0, StreamKind::val) || !t.output_count(1)) return;
  for (size_t i = 1; i < t.inputs(); ++i) {
    if (!t.is_kind(i, StreamKind::crd)) return;
  }
  t.give(0, StreamKind::val, t.space(0));
}

std::vector<int> block_declared(const BlockRules& rules, const Node& node, size_t port) {
  return rules.graph().streams[node.outputs[port]].block;
}

void check_pad(const BlockCheck& check) {
  const Node& node = check.node();
  const std::vector<int>& made = check.stream(node.outputs[0]).block;
  for (const int index : check.stream(node.inputs[0].stream).block) {
    if (!contains(made, index)) check.fail("loses a dimension of the block");
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const std::vector<int>& loops = check.stream(node.inputs[i].stream).indices;
    if (loops.empty() || !contains(made, loops.back())) {
      check.fail("has coordinates of a loop over which the block does not extend");
    }
  }
}

}  // namespace

constinit const NodeRule pad_rule = {
    .name = "pad",
    .fields = NodeFields{.init = true},
    .family = NodeFamily::compute,
    .unit = UnitClass::alu,
    .typing = type_pad,
    .carried = carried::none,
    .block = block_declared,
    .check_block = check_pad,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps::of_operands,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place_in_pad,
    .exchange = ExchangeForm{.refused = "blocks have no form"},
};

}  // namespace fuseflow
