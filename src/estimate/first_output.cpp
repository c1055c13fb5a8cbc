#include "estimate/first_output.h"

#include <algorithm>
#include <limits>

#include "nodes/rule.h"

namespace fuseflow::estimate {

namespace {

/// How long the nodes before a stream are busy, for a reduction of fewer fibers than `fibers`: what
/// an earlier reduction has gathered comes at once, unless that one has more fibers.
struct Supply {
  double fibers = 0;
  double busy = 0;
};

/// Adds one; of several for the same fibers, or for fewer, the busiest is kept.
void add(std::vector<Supply>& all, const Supply& more) {
  for (Supply& old : all) {
    if (old.fibers != more.fibers) continue;
    old.busy = std::max(old.busy, more.busy);
    return;
  }
  all.push_back(more);
}

class FirstOutputs {
 public:
  FirstOutputs(const Structure& s, const Counts& counts, const std::vector<NodeCost>& nodes)
      : s_(s), counts_(counts), nodes_(nodes), supplies_(nodes.size()) {}

  std::vector<double> run() {
    std::vector<double> result(nodes_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = s_.graph->nodes[i];
      std::vector<Supply>& supply = supplies_[i];
      gather(node, supply);
      add(supply, {std::numeric_limits<double>::infinity(), nodes_[i].busy});
      if (!reduces(node.kind)) continue;
      const double fibers = reduced_fibers(s_, counts_, node);
      result[i] = std::max(0.0, busiest(supply, fibers) / fibers - 1);
      for (Supply& each : supply) each.fibers = std::min(each.fibers, fibers);
    }
    return result;
  }

 private:
  void gather(const Node& node, std::vector<Supply>& supply) const {
    for (const Input& in : node.inputs) {
      if (in.is_immediate()) continue;
      const NodeId from = s_.graph->streams[static_cast<size_t>(in.stream)].producer;
      if (s_.node(from).phase != node.phase) continue;
      for (const Supply& each : supplies_[static_cast<size_t>(from)]) add(supply, each);
    }
  }

  static double busiest(const std::vector<Supply>& supply, double fibers) {
    double most = 0;
    for (const Supply& each : supply) {
      if (each.fibers > fibers) most = std::max(most, each.busy);
    }
    return most;
  }

  const Structure& s_;
  const Counts& counts_;
  const std::vector<NodeCost>& nodes_;
  std::vector<std::vector<Supply>> supplies_;  ///< by node, of its outputs
};

}  // namespace

double reduced_fibers(const Structure& structure, const Counts& counts, const Node& node) {
  const auto ending = static_cast<size_t>(node_rule(node.kind).ended(node));
  const int space = structure.space_of(node.inputs[ending].stream);
  return std::max(1.0, counts.space[static_cast<size_t>(space)].nonempty);
}

std::vector<double> first_outputs(const Structure& structure, const Counts& counts,
                                  const std::vector<NodeCost>& nodes) {
  return FirstOutputs(structure, counts, nodes).run();
}

}  // namespace fuseflow::estimate
