// Buffers on a machine that has no room for them as deep as they were lowered: a graph is lowered
// for any machine, so how much of the room for further iterations there is shows only here.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow {

/// The graph with the buffers that it gets on a machine that has no room for all of their
/// capacities, in each set of phases that hold their units together: each its least tokens, and of
/// the room beyond a fair share (a buffer that wants less gets that, the others the same each). Of
/// buffers that no node needs (least 1) the smallest are FIFOs where units are too few. Nothing
/// where all fit, or where no buffer can do with less. Given again what it gave, it gives nothing.
std::optional<Graph> with_shallower_buffers(const Program& program, const Graph& graph,
                                            const Machine& machine);

/// Makes the buffers of every lowered region as shallow as the machine needs.
void fit_buffers(Program& program, const Machine& machine);

/// What is to be said of a region whose buffers are not as deep as lowered; empty if they are, or
/// if it has no graph or does not fit (why_too_large() says so).
std::string shallower_buffers_note(const Program& program, const Region& region,
                                   const Machine& machine);

}  // namespace fuseflow
