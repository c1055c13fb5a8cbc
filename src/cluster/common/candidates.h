// Candidates for the tiles of a kernel: the sizes of blocks that they are made of, whether a core
// has room for them, and the choice of the fastest one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// Copies of the loads of kernels but those of rows: as many as fit, up to these.
inline constexpr int64_t kMostCopiesTried = 4;

/// Powers of two from 16 up to the first that covers the size, at most `most`.
std::vector<int64_t> power_blocks(int64_t size, int64_t most);

/// Blocks of at most `most` elements that cut `size` evenly.
int64_t even_block(int64_t size, int64_t most);

/// One for each of the powers, cut evenly; each once, ascending. Multiples of `unit`, but for the
/// block that has all.
std::vector<int64_t> even_blocks(int64_t size, int64_t most, int64_t unit = 1);

/// Do the registers and the scratchpad of a core have room?
bool fits_core(const KernelNeed& need, const Machine& machine);

/// What a graph takes; not finished where it has more operations than are simulated.
Measured measured_or_unfinished(const Graph& graph, const Machine& machine, int64_t most_cycles);

/// Tiles of one kind and the graph that they give, with its cost in cycles. Where the cost is known
/// without the graph, that is made of those alone that are simulated.
template <typename Tiles>
struct Candidate {
  Tiles tiles;
  Graph graph;
  double cost = 0;
};

/// A candidate that was simulated.
template <typename Tiles>
struct TilesPlan {
  Tiles tiles;
  Graph graph;
  Measured measured;
};

/// Simulates the `most` candidates of least cost and returns the fastest, of equal ones the first;
/// nothing where there is none, or none takes fewer than `most_cycles` (0: however many).
/// `graph_of`: gives the graph of a candidate, or nothing where it has none.
template <typename Tiles, typename GraphOf>
std::optional<TilesPlan<Tiles>> fastest_of(std::vector<Candidate<Tiles>> all, size_t most,
                                           int64_t most_cycles, const Machine& machine,
                                           const GraphOf& graph_of) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.cost < b.cost; });
  std::optional<TilesPlan<Tiles>> best;
  size_t simulated = 0;
  for (auto candidate = all.begin(); candidate != all.end() && simulated < most; ++candidate) {
    std::optional<Graph> graph = graph_of(*candidate);
    if (!graph) continue;
    ++simulated;
    const Measured measured = measured_or_unfinished(*graph, machine, most_cycles);
    const bool limited = most_cycles > 0;
    if (!measured.finished || (limited && measured.cycles >= most_cycles)) continue;
    most_cycles = measured.cycles;
    best = TilesPlan<Tiles>{candidate->tiles, *std::move(graph), measured};
  }
  return best;
}

/// The fastest of candidates that have their graphs.
template <typename Tiles>
std::optional<TilesPlan<Tiles>> fastest_of(std::vector<Candidate<Tiles>> all, size_t most,
                                           int64_t most_cycles, const Machine& machine) {
  return fastest_of(std::move(all), most, most_cycles, machine,
                    [](Candidate<Tiles>& one) { return std::optional(std::move(one.graph)); });
}

}  // namespace fuseflow::cluster
