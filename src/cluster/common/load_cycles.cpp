#include "cluster/common/load_cycles.h"

#include <algorithm>

namespace fuseflow::cluster {

double shared_bytes_per_cycle(const Machine& machine) {
  return machine.has_l2() ? machine.l2.bytes_per_cycle : machine.global_bytes_per_cycle();
}

double as_loaded(double stored, bool adds, const Machine& machine) {
  const double rate = machine.l2.store_rate(adds);
  if (!machine.has_l2() || rate <= 0 || machine.l2.bytes_per_cycle <= 0) return stored;
  return stored * machine.l2.bytes_per_cycle / rate;
}

double store_cycles(double stored, bool adds, int64_t at_a_time, const Machine& machine) {
  const double all = as_loaded(stored, adds, machine) * static_cast<double>(at_a_time);
  return std::max(stored / machine.core.port_bytes_per_cycle,
                  cycles_at(all, shared_bytes_per_cycle(machine)));
}

double count_cycles(const Machine& machine) {
  return static_cast<double>(machine.has_l2() ? machine.l2.latency_cycles
                                              : machine.global.latency_cycles);
}

double settle_cycles(const Settling& settling, const Machine& machine) {
  if (settling.sums == 0) return 0;
  const auto passed = static_cast<double>(2 * settling.sums + settling.result);
  return count_cycles(machine) + settling.lanes +
         cycles_at(passed, machine.core.port_bytes_per_cycle) +
         static_cast<double>(machine.global.latency_cycles);
}

double load_cycles(const StepBytes& bytes, int cores, int64_t at_a_time, const Machine& machine) {
  const double once = bytes.own + bytes.shared / cores;
  const bool over_links = cores > 1 && !machine.links.multicast;
  double cycles =
      (over_links ? once : bytes.own + bytes.shared) / machine.core.port_bytes_per_cycle;
  cycles = std::max(
      cycles, cycles_at(once * static_cast<double>(at_a_time), shared_bytes_per_cycle(machine)));
  if (!over_links) return cycles;
  const double sent = bytes.shared / cores * (cores - 1);
  return std::max(cycles, cycles_at(sent, machine.link_bytes_per_cycle(cores)));
}

double exchange_cycles(double bytes, int cores, const Machine& machine) {
  return static_cast<double>(machine.link_latency(cores)) +
         cycles_at(bytes, machine.link_bytes_per_cycle(cores));
}

double load_path(const StepBytes& bytes, int cores, const Machine& machine) {
  const int64_t memory =
      machine.has_l2() ? machine.l2.latency_cycles : machine.global.latency_cycles;
  double cycles = static_cast<double>(memory + machine.core.scratchpad_latency_cycles +
                                      machine.core.barrier_cycles) +
                  cycles_at(bytes.own + bytes.shared, machine.core.port_bytes_per_cycle);
  if (cores > 1 && !machine.links.multicast) {  // one core loads, and sends to the others
    const double sent = bytes.shared * (cores - 1);
    cycles += cycles_at(sent, machine.link_bytes_per_cycle(cores)) +
              cycles_at(2 * sent, machine.core.scratchpad_bytes_per_cycle) +
              static_cast<double>(machine.link_latency(cores));
  }
  return cycles;
}

}  // namespace fuseflow::cluster
