// Which nodes of ours are an operation of Comal or SAM, and which need an extension.
#pragma once

#include <vector>

#include "exchange/write_graph.h"

namespace fuseflow {

/// Throws Error(rejected) naming the first node that has no form, and why.
void check_has_form(const Program& program, const Region& region);

/// The stream of references or values that has the tokens of a stream of coordinates at the same
/// times; -1 if there is none. Comal repeats by those.
StreamId twin_of(const Graph& graph, StreamId coordinates);

/// Whether an operation of Comal or SAM says all that a reader of that operation needs of the node.
bool has_operation(const Graph& graph, const Program& program, const Node& node, Dialect dialect);

/// What a stream is written as. Comal and SAM drop coordinates beside the values below them, which
/// go to their writer as they are: of such a drop's outputs these are its inputs; else the stream.
std::vector<StreamId> written_as(const Graph& graph);

/// Whether the node takes an input only in our form of it: the operation does not.
bool is_looked_at(const Graph& graph, const Node& node, size_t input);

}  // namespace fuseflow
