#include "energy/price.h"

#include <algorithm>
#include <numeric>

#include "resources/resources.h"

namespace fuseflow {
namespace {

constexpr double kUm2PerMm2 = 1e6;

/// What a graph takes at most at a time.
struct PeakUse {
  std::array<double, kUnitClasses> units{};
  double bytes = 0;
};

PeakUse taken_by(const Program& program, const Graph& graph, const Machine& machine) {
  PeakUse taken;
  if (graph.tiles) return taken;
  const Resources needed = region_resources(program, graph, machine);
  double buffers = 0;
  for (const PhaseResources& phase : needed.phases) {
    buffers = std::max(buffers, static_cast<double>(phase.buffer_bytes));
    for (size_t u = 0; u < taken.units.size(); ++u) {
      taken.units[u] = std::max(taken.units[u], static_cast<double>(phase.units[u]));
    }
  }
  taken.bytes = static_cast<double>(needed.tensor_bytes) + buffers;
  return taken;
}

double area_of(const Machine& machine, const PeakUse& taken, double cores) {
  const AreaModel& area = machine.area;
  double um2 = taken.bytes * area.scratchpad_um2_per_byte + cores * area.core_um2;
  for (size_t u = 0; u < taken.units.size(); ++u) um2 += taken.units[u] * area.unit_um2[u];
  return um2 / kUm2PerMm2;
}

}  // namespace

Prices prices_of(const Machine& machine, double area_mm2) {
  const EnergyModel& e = machine.energy;
  Prices prices{};
  for (size_t a = 0; a < kArithmetics; ++a) {
    for (size_t w = 0; w < kWidths; ++w) prices[a * kWidths + w] = e.operator_pj[a][w];
  }
  for (size_t u = 0; u < e.step_pj.size(); ++u) prices[kFirstStep + u] = e.step_pj[u];
  prices[kFifoWord] = e.fifo_pj_per_word;
  prices[kBufferByte] = e.buffer_pj_per_byte;
  prices[kScratchpadReadByte] = prices[kScratchpadWriteByte] = e.scratchpad_pj_per_byte;
  prices[kLinkByte] = e.link_pj_per_byte;
  prices[kRegisterByte] = e.register_pj_per_byte;
  prices[kDramBurst] = e.dram_burst_pj;
  prices[kDramActivation] = e.dram_activation_pj;
  prices[kLeak] = e.leakage_pj_per_cycle + e.leakage_pj_per_cycle_per_mm2 * area_mm2;
  return prices;
}

double price(const Actions& actions, const Prices& prices) {
  return std::inner_product(prices.begin(), prices.end(), actions.count.begin(), 0.0);
}

double region_area_mm2(const Program& program, const Graph& graph, const Machine& machine) {
  const double cores = graph.tiles ? static_cast<double>(machine.core.count) : 0;
  return area_of(machine, taken_by(program, graph, machine), cores);
}

double machine_area_mm2(const Machine& machine, const Program* program, const Graph* graph) {
  PeakUse all = graph == nullptr ? PeakUse{} : taken_by(*program, *graph, machine);
  for (size_t u = 0; u < all.units.size(); ++u) {
    const int64_t count = machine.units[u].count;
    if (count > 0) all.units[u] = static_cast<double>(count);
  }
  if (machine.scratchpad.bytes > 0) all.bytes = static_cast<double>(machine.scratchpad.bytes);
  return area_of(machine, all, static_cast<double>(machine.core.count));
}

double NodeEnergy::total() const {
  return std::accumulate(pj.begin(), pj.end(), 0.0);
}

RegionEnergy region_energy(const Program& program, const Graph& graph, const Machine& machine,
                           const RegionWork& work) {
  const RegionActions actions = region_actions(graph, machine, work);
  const Prices prices = prices_of(machine, machine_area_mm2(machine, &program, &graph));
  RegionEnergy result;
  for (const Actions& node : actions.nodes) {
    NodeEnergy& energy = result.nodes.emplace_back();
    for (size_t a = 0; a < kActions; ++a) {
      energy.pj[static_cast<size_t>(action_info(a).group)] += node[a] * prices[a];
    }
    result.total_pj += energy.total();
  }
  result.memory_pj = price(actions.memory, prices);
  result.loading_pj = price(actions.loading, prices);
  result.leakage_pj = price(actions.leakage, prices);
  result.total_pj += result.memory_pj + result.loading_pj + result.leakage_pj;
  return result;
}

double pause_pj(const Machine& machine) {
  const double area = machine_area_mm2(machine, nullptr, nullptr);
  return prices_of(machine, area)[kLeak] * static_cast<double>(machine.reconfiguration_cycles);
}

}  // namespace fuseflow
