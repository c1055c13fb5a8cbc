#include "estimate/first_output.h"

#include <algorithm>
#include <limits>

#include "nodes/rule.h"

namespace fuseflow::estimate {

FirstOutputs::FirstOutputs(const Structure& structure, const Counts& counts)
    : s_(structure), counts_(counts), supplies_(structure.graph->nodes.size()) {}

/// Adds a supply; of several for the same number of fibers, or for fewer, the one that ends last is
/// kept.
void FirstOutputs::add(std::vector<Supply>& all, const Supply& more) {
  for (Supply& old : all) {
    if (old.fibers != more.fibers) continue;
    if (more.start + more.busy > old.start + old.busy) old = more;
    return;
  }
  all.push_back(more);
}

void FirstOutputs::gather(const Node& node, std::vector<Supply>& supply) const {
  for (const Input& in : node.inputs) {
    if (in.is_immediate()) continue;
    const NodeId from = s_.graph->streams[static_cast<size_t>(in.stream)].producer;
    if (s_.node(from).phase != node.phase) continue;
    for (const Supply& each : supplies_[static_cast<size_t>(from)]) add(supply, each);
  }
}

double FirstOutputs::first_of(const std::vector<Supply>& supply, double fibers) {
  double first = 0;
  for (const Supply& each : supply) {
    if (each.fibers > fibers) first = std::max(first, each.start + each.busy / fibers - 1);
  }
  return first;
}

double FirstOutputs::add(size_t i, double start, double busy) {
  const Node& node = s_.graph->nodes[i];
  std::vector<Supply>& supply = supplies_[i];
  supply.clear();
  gather(node, supply);
  add(supply, {std::numeric_limits<double>::infinity(), start, busy});
  if (!reduces(node.kind)) return 0;
  const double fibers = reduced_fibers(s_, counts_, node);
  const double first = std::max(start, first_of(supply, fibers));
  for (Supply& each : supply) each.fibers = std::min(each.fibers, fibers);
  return first - start;
}

double reduced_fibers(const Structure& structure, const Counts& counts, const Node& node) {
  int space = structure.space_of(node.inputs.back().stream);
  for (int i = 0; i < node.order; ++i) space = structure.info(space).parent;  // the loop that ends
  return std::max(1.0, counts.space[static_cast<size_t>(space)].nonempty);
}

}  // namespace fuseflow::estimate
