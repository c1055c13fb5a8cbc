// What a graph takes of a machine: units by class, and bytes on chip (tensors in the scratchpad,
// buffers, accumulators). Rules: ir-spec/machines.md. Knows graphs and machines, not how either is
// used.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"
#include "ops/op.h"

namespace fuseflow {

/// The unit class whose timing and count a node kind has. Tile nodes have none: Error(internal).
UnitClass unit_class(NodeKind kind);

/// What phases that run at the same time take together.
struct PhaseResources {
  std::array<int64_t, kUnitClasses> units{};
  int64_t buffer_bytes =
      0;  ///< capacities of buffers and accumulators, 4 bytes a token or entry's part
};

struct Resources {
  std::vector<PhaseResources> phases;  ///< one a set of phases that hold their units together
  int64_t tensor_bytes = 0;  ///< of tensors in the scratchpad, the most that they can need
};

/// With buffers as deep as the machine has room for (shallower_buffers.h).
Resources region_resources(const Program& program, const Graph& graph, const Machine& machine);

/// Bytes of the tensors that a graph holds in the scratchpad, the most that they can need.
int64_t scratchpad_bytes(const Program& program, const Graph& graph);

/// Whether a buffer of so many tokens is a FIFO like any other on a machine: it holds no more, and
/// need not. It takes no unit and no bytes.
bool is_fifo(const Node& node, int64_t tokens, const Machine& machine);

/// Tokens of a buffer of this many, or entries of an accumulator (each a value and its coordinates,
/// in each of its stores), in bytes; 0 of any other node.
int64_t held_bytes(const Node& node, int64_t tokens, const Machine& machine);

/// The phase with which a node's units and buffers are taken.
int taken_with(const Graph& graph, const Node& node, const Machine& machine);

/// What of a machine's description a graph needs and the machine lacks: "cores" (graphs of tiles)
/// or "streams" (all others); empty if it has it.
std::string_view lacking_part(const Graph& graph, const Machine& machine);

/// A warning for the regions of streams (lowered or not) of a program on a machine that has no
/// units for them; empty if there is nothing to warn of.
std::string lacking_streams(const Program& program, const Machine& machine);

/// What a graph of streams needs beyond what the machine has, each kind in shares of what there is,
/// added up; 0: it fits.
double share_beyond(const Program& program, const Graph& graph, const Machine& machine);

/// What does not fit the machine, or it lacks, and what would; empty if all does.
std::string why_too_large(const Program& program, const Region& region, const Graph& graph,
                          const Machine& machine);

}  // namespace fuseflow
