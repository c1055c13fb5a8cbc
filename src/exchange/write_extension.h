// Nodes as extensions of a ComalGraph (ir-spec/exchange.md).
#pragma once

#include <string>

#include "exchange/comal.pb.h"
#include "exchange/stream_ids.h"
#include "graph/graph.h"

namespace fuseflow {

/// A stream that the node takes and its operation does not.
void look_at(const Graph& graph, const StreamIds& ids, StreamId stream,
             comal::Operation& operation);

/// The whole node; `tensor`: the name of its tensor, if it has one.
void write_extension(const Graph& graph, StreamIds& ids, const Node& node,
                     const std::string& tensor, comal::Extension& extension);

}  // namespace fuseflow
