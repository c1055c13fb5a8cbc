// The rules of node kinds (graph/node_kinds.h), KIND_rule of each, and what they share.
#pragma once

#include "graph/node_kinds.h"
#include "nodes/fibers.h"
#include "nodes/rule.h"

namespace fuseflow {

#define FUSEFLOW_DECLARE_RULE(kind) extern const NodeRule kind##_rule;
FUSEFLOW_NODE_KINDS(FUSEFLOW_DECLARE_RULE)
#undef FUSEFLOW_DECLARE_RULE

namespace place {
/// Each input by itself, as of a node with one.
inline InputPlace anywhere(const Node& /*node*/, size_t /*input*/) {
  return {};
}
/// All streams are in one space.
InputPlace all_same(const Node& node, size_t input);
/// Those before the last are in its space or in spaces around it.
InputPlace around_last(const Node& node, size_t input);
}  // namespace place

namespace exchanged {
/// An operation, whatever the node is.
inline constexpr ExchangeForm kOperation{};
/// An extension, in a space that the node opens.
inline constexpr ExchangeForm kExtension{.extension = true};
inline constexpr ExchangeForm kInSpace{.extension = true, .stays_in_space = true};
}  // namespace exchanged

namespace carried {
/// Every payload is new.
inline int none(const Node& /*node*/, size_t /*port*/) {
  return -1;
}
/// Each output carries the payloads of the first input.
inline int first(const Node& /*node*/, size_t /*port*/) {
  return 0;
}
}  // namespace carried

namespace blocks {
/// The output has no values.
inline std::vector<int> none(const BlockRules& /*rules*/, const Node& /*node*/, size_t /*port*/) {
  return {};
}
/// Those of the input that the output carries on.
std::vector<int> of_carried(const BlockRules& rules, const Node& node, size_t port);
/// A reduction's: the loop that ends, `order` loops around the values' innermost, is gone.
std::vector<int> without_ended(const BlockRules& rules, const Node& node, size_t port);

inline void no_check(const BlockCheck& /*check*/) {}
/// The mean of blocks would divide by a count that differs within a block.
void no_mean(const BlockCheck& check);
}  // namespace blocks

namespace waits {
inline bool in_step(const Node& /*node*/, size_t /*a*/, size_t /*b*/) {
  return false;
}
/// Gives something for each token that it takes.
inline constexpr NodeWaits kInStep{.selects = false, .looks_ahead = false, .apart = in_step};
inline constexpr NodeWaits kSelects{.selects = true, .looks_ahead = false, .apart = in_step};
}  // namespace waits

namespace origins {
/// New payloads in the space of an input, or no outputs.
inline void new_payloads(const Node& /*node*/, FiberOrigins& /*origins*/) {}
/// The one output has the payloads of the first input.
inline void same_as_first(const Node& node, FiberOrigins& origins) {
  origins.same(node.outputs[0], node.inputs[0].stream);
}
/// All outputs are in one space, which the node makes.
inline void one_computed(const Node& node, FiberOrigins& origins) {
  for (const StreamId out : node.outputs) origins.computed(out, 0);
}
}  // namespace origins

namespace shaping {
inline void none(const Node& /*node*/, ShapingInputs& /*inputs*/) {}
void all_inputs(const Node& node, ShapingInputs& inputs);
void all_if_any_output(const Node& node, ShapingInputs& inputs);
/// An input whose payloads an output carries on, if that one does.
void by_output(const Node& node, ShapingInputs& inputs);
}  // namespace shaping

namespace fiber {
/// The node makes none: throws Error(internal).
Fiber not_made(const Node& node, FiberNumbers& numbers, int loop);
}  // namespace fiber

namespace elements {
/// An output has as many elements as the first input; without inputs one.
void of_first(const Node& node, const ElementNumbers& numbers, std::span<Elements> out);
}  // namespace elements

namespace steps {
/// The node takes no steps on tokens: sim/tiles and sim/common/conversion.h count its work as a
/// whole.
inline StepCounts none(const NodeNumbers& /*n*/) {
  return {};
}
/// One for each token of the operands.
StepCounts of_operands(const NodeNumbers& n);
}  // namespace steps

namespace flops {
inline double none(const Graph& /*graph*/, const Node& /*node*/, double /*taken*/,
                   double /*given*/) {
  return 0;
}
double of_reduction(const Graph& graph, const Node& node, double taken, double given);
}  // namespace flops

namespace bytes {
inline ByteCounts none(const NodeNumbers& /*n*/) {
  return {};
}
}  // namespace bytes

}  // namespace fuseflow
