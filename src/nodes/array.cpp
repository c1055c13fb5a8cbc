// array: the stored value at a reference.
#include <algorithm>

#include "nodes/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

void type_array(Typing& t) {
  const int last = t.tensor().format.rank() - 1;
  if (!t.counts(1, 1) || !t.refers_to(0, last)) return;
  t.give(0, StreamKind::val, t.space(0));
}

/// The tensor's blocked dimensions, in their order; each extends over the loop that led there.
std::vector<int> block_of_array(const BlockRules& rules, const Node& node, size_t /*port*/) {
  const Format& format = rules.format(node);
  std::vector<int> result;
  if (format.block.empty()) return result;
  const std::vector<int>& loops = rules.loops_of(node.inputs[0].stream);
  for (int d = 0; d < format.rank(); ++d) {
    if (format.block[d] == 1) continue;
    const auto level = std::find(format.mode_order.begin(), format.mode_order.end(), d) -
                       format.mode_order.begin();
    result.push_back(static_cast<size_t>(level) < loops.size() ? loops[level] : -1);
  }
  return result;
}

void check_array(const BlockCheck& check) {
  check.expect_blocks_of_tensor(check.node().outputs[0]);
}

/// Which references are absent decides which values are fills, and those may be dropped.
void shaping_of_array(const Node& node, ShapingInputs& inputs) {
  const StreamId ref = node.inputs[0].stream;
  if (inputs.may_be_absent(ref)) inputs.add(ref);
}

ByteCounts bytes_of_array(const NodeNumbers& n) {
  return {.read = n.own.present * n.value_bytes};
}

}  // namespace

constinit const NodeRule array_rule = {
    .name = "array",
    .fields = NodeFields{.tensor = true},
    .family = NodeFamily::read,
    .unit = UnitClass::array,
    .typing = type_array,
    .carried = carried::none,
    .block = block_of_array,
    .check_block = check_array,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping_of_array,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps::of_operands,
    .flops = flops::none,
    .bytes = bytes_of_array,
    .place = place::anywhere,
    .exchange = exchanged::kOperation,
};

}  // namespace fuseflow
