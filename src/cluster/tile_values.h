// Values of a tile graph: what the nodes compute, evaluated along the graph's data edges only, and
// a plain reference to compare with. For instances small enough to hold every tile.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cluster/tile_graph.h"

namespace fuseflow::cluster {

/// Dense row-major operands. b and bias0 have a second branch when the chain is gated.
struct ChainData {
  std::vector<float> a, d, bias1, residual;
  std::array<std::vector<float>, 2> b, bias0;
};

/// Seeded operands: small whole numbers (sums are exact in f32 when the activation is none or
/// relu), scaled by `scale`.
ChainData make_data(const Chain& chain, uint64_t seed, float scale);

/// E by the definition of the chain, in double.
std::vector<double> reference_e(const Chain& chain, const ChainData& data);

/// E as the clusters of a plan compute it: f32 values, sums in the order of the graph.
std::vector<float> evaluate_graph(const Chain& chain, const Plan& plan, const Analysis& analysis,
                                  const ChainData& data);

}  // namespace fuseflow::cluster
