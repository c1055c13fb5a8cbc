// A verdict in words, the same in every tool.
#pragma once

#include <string>

#include "ir/program.h"
#include "machine/machine.h"
#include "verdict/limit.h"

namespace fuseflow {

/// `node 9, array %w`: number, kind, operator, tensor and level.
std::string node_words(const Program& program, const Graph& graph, NodeId node);

/// What limits the region, in one sentence without an end. `waits_known`: how long is known, too.
std::string limit_words(const Program& program, const Graph& graph, const Machine& machine,
                        const Limit& limit, bool waits_known = true);

/// How far the region is from what its busiest nodes, or its memory, could do.
std::string roof_words(const Program& program, const Graph& graph, const Limit& limit,
                       double cycles);

}  // namespace fuseflow
