// The machine that clusters are planned for, and its reader (TOML). Isolated from the rest of the
// planner so that it can move to a machine library for all tools.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fuseflow::cluster {

/// Cluster sizes that a machine has link figures for.
inline constexpr std::array<int, 5> kClusterSizes{1, 2, 4, 8, 16};
/// Index into kClusterSizes; `cores` must be one of them.
int cluster_size_index(int cores);

struct ClusterMachine {
  std::string name;
  double clock_gigahertz = 1;
  int64_t cores = 1;
  double matrix_flops_per_cycle = 1;      ///< a core
  int64_t register_bytes = 0;             ///< a core
  double register_bytes_per_cycle = 1;    ///< a core
  int64_t scratchpad_bytes = 0;           ///< a core
  double scratchpad_bytes_per_cycle = 1;  ///< a core, reads and writes together
  int64_t scratchpad_latency_cycles = 1;
  int64_t matrix_latency_cycles = 1;
  std::array<double, 5> link_gigabytes_per_second{};  ///< all cores, by cluster size
  std::array<int64_t, 5> link_latency_cycles{};
  double global_gigabytes_per_second = 1;
  int64_t global_latency_cycles = 1;
  int64_t global_channels = 1;
  double core_port_bytes_per_cycle = 1;  ///< a core's port to global memory

  double global_bytes_per_cycle() const { return global_gigabytes_per_second / clock_gigahertz; }
  /// What one core can send over the links of a cluster of `cores`.
  double link_bytes_per_cycle(int cluster_cores) const;
  int64_t link_latency(int cluster_cores) const;
  /// Clusters of `cluster_cores` that run at a time.
  int64_t concurrent_clusters(int64_t cluster_cores) const { return cores / cluster_cores; }
};

/// `text` is TOML; `file` names it in diagnostics. `settings` are `key=value` with dotted keys
/// (`core.count=16`, `links.latency_cycles.4=200`). Throws Error(rejected) for a missing, unknown
/// or unusable key, Error(usage) for a bad setting.
ClusterMachine parse_machine(const std::string& text, const std::string& file,
                             const std::vector<std::string>& settings);

/// A preset by name (`h100`) or a file by path (contains `/` or ends in `.toml`).
ClusterMachine load_machine(const std::string& name_or_file,
                            const std::vector<std::string>& settings);

}  // namespace fuseflow::cluster
