// map: an operator on the values of streams, and on numbers.
#include <fmt/format.h>

#include <algorithm>

#include "nodes/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"
#include "ops/op.h"

namespace fuseflow {

namespace {

void type_map(Typing& t) {
  const int arity = op_info(t.node().op).arity;
  if (!t.counts(arity, 1)) return;
  int first = -1;
  for (int i = 0; i < arity; ++i) {
    if (t.node().inputs[i].is_immediate()) continue;
    if (!t.is_kind(i, StreamKind::val)) return;
    if (first < 0) first = i;
  }
  if (first < 0) return (void)t.fail("has only immediate operands, expected at least one stream");
  t.give(0, StreamKind::val, t.space(first));
}

/// All that operands extend over, in the order of the graph's loops, but what is contracted.
std::vector<int> block_of_map(const BlockRules& rules, const Node& node, size_t /*port*/) {
  std::vector<int> result;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].is_immediate()) continue;
    for (const int index : rules.input(node, i).block) {
      if (!contains(result, index) && !contains(node.contract, index)) result.push_back(index);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

void check_contraction(const BlockCheck& check) {
  const Node& node = check.node();
  if (node.contract.empty()) return;
  if (node.op != Op::mul) return check.fail("contracts, which only a product can");
  for (const Input& input : node.inputs) {
    for (const int index : node.contract) {
      if (input.is_immediate() || !contains(check.stream(input.stream).block, index)) {
        return check.fail(fmt::format("contracts {}, over which not every operand extends",
                                      check.list(node.contract)));
      }
    }
  }
}

void elements_of_map(const Node& node, const ElementNumbers& numbers, std::span<Elements> out) {
  out[0] = numbers.input(0);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    out[0].count = std::max(out[0].count, numbers.input(i).count);
  }
}

/// FLOPs of a map: a payload that is a block counts all of its elements (ir-spec/blocks.md).
double flops_of_map(const Graph& graph, const Node& node, double /*taken*/, double given) {
  const std::vector<int>& block = graph.streams[node.outputs[0]].block;
  const auto volume = static_cast<double>(block_volume(graph, block));
  const auto summed = static_cast<double>(block_volume(graph, node.contract));
  return given * (volume * (op_info(node.op).flops * summed + summed - 1));
}

}  // namespace

constinit const NodeRule map_rule = {
    .name = "map",
    .fields = NodeFields{.op = true, .contract = true, .immediates = true},
    .family = NodeFamily::compute,
    .unit = UnitClass::alu,
    .typing = type_map,
    .carried = carried::none,
    .block = block_of_map,
    .check_block = check_contraction,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements_of_map,
    .steps = steps::of_operands,
    .flops = flops_of_map,
    .bytes = bytes::none,
    .place = place::all_same,
    .exchange = exchanged::kInSpace,
};

}  // namespace fuseflow
