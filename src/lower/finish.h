// The last steps on a lowered graph: dead nodes and payloads removed, buffers where reconverging
// paths need them, streams named. They know nodes, not statements.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "lower/buffer_plan.h"

namespace fuseflow {

/// Removes what no writer needs; `tags` (one a node) is kept in step. Also drops unused indices:
/// gives what those that stay were.
std::vector<int> remove_dead(Graph& graph, std::vector<size_t>& tags);

/// Inserts a buffer in front of each input that has to wait for a reduction over loops that it runs
/// through itself (softmax, layernorm, residuals): without it a bounded FIFO would fill up and the
/// reduction never end. Where they are and how deep: buffer_plan.h.
void insert_buffers(Graph& graph, std::vector<size_t>& tags);
/// The buffers of a plan for this graph.
void insert_buffers(Graph& graph, std::vector<size_t>& tags, const BufferPlan& plan);

/// Tokens of a stream in one iteration of its outer `loops` loops: elements and stops, by the
/// extents.
int64_t tokens_below(const Graph& graph, StreamId stream, int loops);

/// Canonical stream names: loops by index, references and values by tensor, results by operator.
void name_streams(Graph& graph, const std::vector<std::string>& tensor_names);

}  // namespace fuseflow
