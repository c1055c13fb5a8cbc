// coordinate: a coordinate as a number.
#include "nodes/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

void type_coordinate(Typing& t) {
  if (!t.counts(1, 1) || !t.is_kind(0, StreamKind::crd)) return;
  t.give(0, StreamKind::val, t.space(0));
}

/// A coordinate of blocks is the numbers of the elements in the block.
std::vector<int> block_of_coordinate(const BlockRules& rules, const Node& node, size_t port) {
  const std::vector<int>& indices = rules.graph().streams[node.outputs[port]].indices;
  if (indices.empty() || rules.graph().indices[indices.back()].size < 0) return {};
  return {indices.back()};
}

}  // namespace

constinit const NodeRule coordinate_rule = {
    .name = "coordinate",
    .fields = NodeFields{},
    .family = NodeFamily::compute,
    .unit = UnitClass::alu,
    .typing = type_coordinate,
    .carried = carried::none,
    .block = block_of_coordinate,
    .check_block = blocks::no_check,
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
    .place = place::anywhere,
    .exchange = exchanged::kInSpace,
};

}  // namespace fuseflow
