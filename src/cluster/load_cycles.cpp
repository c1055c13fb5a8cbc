#include "cluster/load_cycles.h"

#include <algorithm>

namespace fuseflow::cluster {

double load_cycles(const StepBytes& bytes, int cores, int64_t at_a_time, const Machine& machine) {
  const double once = bytes.own + bytes.shared / cores;
  const bool over_links = cores > 1 && !machine.links.multicast;
  double cycles =
      (over_links ? once : bytes.own + bytes.shared) / machine.core.port_bytes_per_cycle;
  if (machine.has_l2()) {
    cycles = std::max(cycles, once * static_cast<double>(at_a_time) / machine.l2.bytes_per_cycle);
  }
  if (over_links && machine.link_bytes_per_cycle(cores) > 0) {
    const double sent = bytes.shared / cores * (cores - 1);
    cycles = std::max(cycles, sent / machine.link_bytes_per_cycle(cores));
  }
  return cycles;
}

}  // namespace fuseflow::cluster
