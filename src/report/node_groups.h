// Nodes and streams of a run with parallel copies as one: what copies are is said by the graphs of
// the program (graph/collapse.h). Without a program every node is by itself.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"
#include "report/short_names.h"

namespace fuseflow {

/// The busiest of the copies of a node.
struct BusyGroup {
  const NodeRow* row = nullptr;
  size_t copies = 1;
};

/// At most `most`, those whose busiest copy was in a step for the most cycles first; of equal ones
/// the first.
std::vector<BusyGroup> busiest_groups(const PageInput& input, size_t most);

/// The streams of all copies of a node's output.
struct StreamGroup {
  const StreamRow* row =
      nullptr;  ///< that was blocked for longest; of equal ones, with the most tokens
  size_t copies = 1;
};

/// In the order of the table.
std::vector<StreamGroup> stream_groups(const PageInput& input);

/// "12 map mul", with the tensor that it reads or writes, as `names` call it.
std::string node_label(const NodeRow& row, const ShortNames& names);

}  // namespace fuseflow
