// How long the loads of a step take on a core, roughly, for ranking: through its port, of its share
// of the L2 (or of memory), over links to the cores that share a tile. Rules: ir-spec/cluster.md,
// "Clusters of kernels".
#pragma once

#include <array>
#include <cstdint>

#include "machine/machine.h"

namespace fuseflow::cluster {

/// Cycles of so much at a rate; a rate of 0 is free.
inline double cycles_at(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

/// Sizes of clusters that kernels try besides single cores.
inline constexpr std::array<int, 3> kKernelClusters{2, 4, 8};

/// Sizes of clusters whose cores sum parts of a product: each has some of k, or of the columns that
/// a second product sums. Kernels whose reductions walk k together have parts of k, too.
inline constexpr std::array<int, 4> kSummingClusters{2, 4, 8, 16};

/// Bytes that a core needs for a step: `own` ones, and `shared` ones which all cores of its cluster
/// need.
struct StepBytes {
  double own = 0, shared = 0;
};

/// What all cores together get of the L2, or of memory where there is none; 0: any number of bytes.
double shared_bytes_per_cycle(const Machine& machine);

/// Bytes that all cores together could load in the time that storing `stored` takes, or adding them
/// to what is in memory. Where the rate of loads has no limit: `stored`.
double as_loaded(double stored, bool adds, const Machine& machine);

/// Cycles in which each of `at_a_time` cores stores, or adds, `stored` bytes.
double store_cycles(double stored, bool adds, int64_t at_a_time, const Machine& machine);

/// What the last of the clusters that add to a tile does: it reads `sums` bytes, leaves zeros in
/// their place, and stores `result` bytes. No sums: nobody adds.
struct Settling {
  int64_t sums = 0, result = 0;
  double lanes = 0;  ///< cycles between
};

/// Cycles from its own sums in memory, and the answer that it is the last, to the result.
double settle_cycles(const Settling& settling, const Machine& machine);

/// Cycles in which an adder is told how many have added.
double count_cycles(const Machine& machine);

/// From when the loads of a step are asked until all of them are there, where nobody else asks.
double load_path(const StepBytes& bytes, int cores, const Machine& machine);

/// Cycles until each core of a cluster has what the others send it, `bytes` together.
double exchange_cycles(double bytes, int cores, const Machine& machine);

/// Cycles, with `at_a_time` cores at work in clusters of `cores`.
double load_cycles(const StepBytes& bytes, int cores, int64_t at_a_time, const Machine& machine);

}  // namespace fuseflow::cluster
