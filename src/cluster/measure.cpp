#include "cluster/measure.h"

namespace fuseflow::cluster {

Measured measure_plan(const Chain& chain, const Plan& plan, const Analysis& analysis,
                      const ClusterMachine& machine) {
  const TileGraph first = build_graph(chain, plan, analysis, true);
  const std::vector<ClusterAt> clusters = clusters_of(plan, analysis.trips);
  const bool epilogue = chain.bias1 || chain.residual;
  TileGraph other;
  std::vector<const TileGraph*> graphs{&first};
  if (epilogue) {
    other = build_graph(chain, plan, analysis, false);
    graphs.push_back(&other);
  }
  std::vector<uint8_t> which;
  which.reserve(clusters.size());
  for (const ClusterAt& at : clusters) {
    which.push_back(epilogue && (at[Dim::n] != 0 || at[Dim::k] != 0) ? 1 : 0);
  }
  return time_launch(machine, graphs, which);
}

}  // namespace fuseflow::cluster
