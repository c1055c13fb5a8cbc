// Prices of actions on a machine: picojoules and square millimetres. Definitions:
// ir-spec/energy.md.
#pragma once

#include <array>
#include <vector>

#include "energy/actions.h"
#include "ir/program.h"

namespace fuseflow {

/// Picojoules by ActionId.
using Prices = std::array<double, kActions>;

/// `area_mm2`: of what leaks.
Prices prices_of(const Machine& machine, double area_mm2);
double price(const Actions& actions, const Prices& prices);

/// Square millimetres of the units that a graph takes, with the bytes that it holds on chip; of a
/// graph of tiles, of the machine's cores.
double region_area_mm2(const Program& program, const Graph& graph, const Machine& machine);

/// The area of the machine: all of its units, scratchpads and cores. Of unit classes and
/// scratchpads that have no limit, what the graph takes counts (null: nothing).
double machine_area_mm2(const Machine& machine, const Program* program, const Graph* graph);

struct NodeEnergy {
  std::array<double, kActionGroups> pj{};  ///< by ActionGroup
  double total() const;
};

/// Picojoules. The total is the sum of all nodes' and the other three.
struct EnergyParts {
  double memory_pj = 0;   ///< DRAM
  double loading_pj = 0;  ///< inputs into the scratchpad, before the first cycle
  double leakage_pj = 0;
  double total_pj = 0;
  EnergyParts& operator+=(const EnergyParts& other) {
    memory_pj += other.memory_pj;
    loading_pj += other.loading_pj;
    leakage_pj += other.leakage_pj;
    total_pj += other.total_pj;
    return *this;
  }
};

struct RegionEnergy : EnergyParts {
  std::vector<NodeEnergy> nodes;  ///< by NodeId
};

RegionEnergy region_energy(const Program& program, const Graph& graph, const Machine& machine,
                           const RegionWork& work);

/// Between two regions.
double pause_pj(const Machine& machine);

/// Energy-delay product in joule seconds.
inline double edp(const Machine& machine, double energy_pj, double cycles) {
  return energy_pj * 1e-12 * machine.seconds_of(cycles);
}

}  // namespace fuseflow
