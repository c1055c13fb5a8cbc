// The nodes and streams of a run, read back from the CSV of `fuseflow-sim --nodes` and `--streams`
// (ir-spec/csv.md).
#pragma once

#include <string>
#include <vector>

#include "support/io.h"

namespace fuseflow {

struct NodeRow {
  std::string region;
  int64_t number = 0;  ///< in the region's graph
  std::string kind;
  std::string function;          ///< operator or reduction; empty: none
  std::string tensor;            ///< `tensor.level` that it reads or writes; empty: none
  std::string outputs;           ///< names of its streams
  std::string statement, layer;  ///< what it was lowered from; empty where the file does not say
  double busy = 0, starved = 0, blocked = 0, memory = 0;  ///< cycles
  double first_step = -1, last_step = -1;                 ///< below 0: none
  double steps = 0, tokens_out = 0, flops = 0, bytes = 0;
};

struct StreamRow {
  std::string region, stream;
  double tokens = 0, peak_tokens = 0;
  double blocked = 0;  ///< cycles for which only its room was missing
};

/// Throw Error(rejected) with file and line.
std::vector<NodeRow> parse_node_table(const SourceText& source);
std::vector<StreamRow> parse_stream_table(const SourceText& source);

/// At most `most` nodes, those that were in a step for the most cycles first.
std::vector<const NodeRow*> busiest_nodes(const std::vector<NodeRow>& nodes, size_t most);

}  // namespace fuseflow
