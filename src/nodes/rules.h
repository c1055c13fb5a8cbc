// The rule of each node kind, by the file of src/nodes that defines it; and what rules share.
#pragma once

#include "nodes/fibers.h"
#include "nodes/rule.h"

namespace fuseflow {

extern const NodeRule root_rule;       // root.cpp
extern const NodeRule scan_rule;       // scan.cpp
extern const NodeRule locate_rule;     // locate.cpp
extern const NodeRule gallop_rule;     // gallop.cpp
extern const NodeRule repeat_rule;     // repeat.cpp
extern const NodeRule intersect_rule;  // join.cpp
extern const NodeRule intersect_words_rule;
extern const NodeRule unite_rule;
extern const NodeRule leftjoin_rule;
extern const NodeRule array_rule;        // array.cpp
extern const NodeRule map_rule;          // map.cpp
extern const NodeRule coordinate_rule;   // coordinate.cpp
extern const NodeRule reduce_rule;       // reduce.cpp
extern const NodeRule accumulate_rule;   // accumulate.cpp
extern const NodeRule align_rule;        // align.cpp
extern const NodeRule drop_rule;         // drop.cpp
extern const NodeRule filter_rule;       // filter.cpp
extern const NodeRule buffer_rule;       // buffer.cpp
extern const NodeRule write_level_rule;  // write.cpp
extern const NodeRule write_values_rule;
extern const NodeRule parallelize_rule;  // split.cpp
extern const NodeRule serialize_rule;
extern const NodeRule pad_rule;        // pad.cpp
extern const NodeRule convert_rule;    // convert.cpp
extern const NodeRule tile_load_rule;  // tile.cpp
extern const NodeRule tile_multiply_rule;
extern const NodeRule exchange_rule;
extern const NodeRule gather_rule;
extern const NodeRule tile_hold_rule;
extern const NodeRule shuffle_rule;
extern const NodeRule reduce_scatter_rule;
extern const NodeRule tile_store_rule;

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
/// A reduction's: the loop that ends, `inside` loops around the values' innermost, is gone.
std::vector<int> without_ended(const BlockRules& rules, const Node& node, size_t inside);

inline void no_check(const BlockCheck& /*check*/) {}
/// The mean of blocks would divide by a count that differs within a block.
void no_mean(const BlockCheck& check);
}  // namespace blocks

namespace ended {
inline int none(const Node& /*node*/) {
  return -1;
}
}  // namespace ended

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
/// As many as the first input has; without inputs one.
void of_first(const Node& node, const ElementNumbers& numbers, std::span<Elements> out);
}  // namespace elements

namespace steps {
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
