#include "resources/idle_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "machine/keys.h"
#include "nodes/rule.h"
#include "resources/operators.h"
#include "resources/resources.h"

namespace fuseflow {
namespace {

bool in_section(const std::string& key, std::string_view section) {
  return key.starts_with(section);
}

bool is_one_of(const std::string& key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// What of a machine the graphs of a program use.
struct UsedResources {
  std::set<std::string> units;      ///< classes
  std::set<std::string> operators;  ///< classes
  bool streams = false;
  bool tiles = false;
  bool beside_tiles = false;  ///< streams or conversions
  bool memory = false;        ///< for streams, or for what they keep on chip
  bool on_chip = false;
  bool held = false;  ///< buffers, entries of accumulators
  bool blocks = false;
  bool phases = false;  ///< that follow each other
};

void add_node(const Node& node, UsedResources& used) {
  used.units.insert(std::string(unit_class_name(unit_class(node.kind))));
  if (node.kind == NodeKind::map) {
    if (const auto which = operator_class(node.op)) {
      used.operators.insert(std::string(operator_class_name(*which)));
    }
  }
  used.held = used.held || node.kind == NodeKind::buffer || node.kind == NodeKind::accumulate;
}

UsedResources used_by(const Program& program) {
  UsedResources used;
  for (const Region& region : program.regions) {
    const Graph& graph = *region.graph;
    used.on_chip = used.on_chip || !graph.scratchpad.empty();
    if (graph.tiles) {
      used.tiles = true;
      continue;
    }
    used.beside_tiles = true;
    if (is_conversion(graph)) {
      used.memory = used.on_chip = true;
      continue;
    }
    used.streams = true;
    used.memory = used.memory || uses_memory(graph, program.tensors.size());
    used.phases = used.phases || graph.phases() > 1;
    for (const Stream& stream : graph.streams) used.blocks = used.blocks || !stream.block.empty();
    for (const Node& node : graph.nodes) add_node(node, used);
  }
  return used;
}

/// Why a key of section `dram` changes nothing for streams that use memory; "": it may.
std::string why_not_memory(const Machine& machine, const std::string& key) {
  const DramModel& dram = machine.dram;
  if (key == "dram.model") return "";
  if (key == "dram.burst_bytes" && machine.has_energy) return "";  // which whole bursts take
  if (dram.model == "none") return "`dram.model` is none: memory takes no time";
  const std::string model = fmt::format("`dram.model` is {}", dram.model);
  const bool banked = dram.model == "banked";
  const bool of_banks =
      in_section(key, "dram.timing.") ||
      is_one_of(key, {"dram.queue_depth", "dram.most_bypassed", "dram.bank_groups",
                      "dram.banks_per_group", "dram.row_bytes"});
  if (of_banks && !banked) return model;
  if (key == "dram.interval_cycles" && banked) return model;
  if (key == "dram.interleave_bytes" && dram.model == "comal") return model;
  const bool given = dram.bandwidth_gigabytes_per_second > 0;
  if (given && is_one_of(key, {"dram.interval_cycles", "dram.timing.burst_ps"})) {
    return "`dram.bandwidth_gigabytes_per_second` says the rate";
  }
  return "";
}

/// The part between the first and the last dot.
std::string middle_of(const std::string& key) {
  const size_t first = key.find('.');
  const size_t last = key.rfind('.');
  return first == last ? "" : key.substr(first + 1, last - first - 1);
}

std::string why_not_scratchpad(const Machine& machine, const UsedResources& used,
                               const std::string& key) {
  if (used.tiles) return "";
  if (key == "scratchpad.bytes") {
    return used.on_chip || used.held ? "" : "no region keeps anything on chip";
  }
  if (!used.on_chip) return "no region has a tensor in the scratchpad";
  const bool alone = key == "scratchpad.link_bytes_per_cycle" && machine.scratchpad.tiles == 1;
  return alone ? "`scratchpad.tiles` is 1" : "";
}

std::string why_not_streams(const Program& program, const UsedResources& used,
                            const std::string& key) {
  const auto lacks = [](bool there, const char* what) { return there ? "" : what; };
  if (key == "fifo_depth") return lacks(used.streams, "no region is a graph of streams");
  if (key == "reconfiguration_cycles") {
    return lacks(program.regions.size() > 1, "the program has one region");
  }
  if (key == "phases_hold_units_together") {
    return lacks(used.phases, "no region has phases");
  }
  if (in_section(key, "accumulate_")) {
    return lacks(used.units.contains("accumulate"), "no region has an accumulator");
  }
  if (key == "write_stops_take_steps") {
    return lacks(used.units.contains("write"), "no region writes a stream");
  }
  if (in_section(key, "block.")) return lacks(used.blocks, "no region works on blocks");
  if (in_section(key, "units.")) {
    return lacks(used.units.contains(middle_of(key)), "no region has a node of this class");
  }
  if (in_section(key, "operators.")) {
    return lacks(used.operators.contains(middle_of(key)), "no region has such an operator");
  }
  return "";
}

/// Whether a key makes the machine larger, and what it leaks with it, whatever the program uses.
bool changes_leakage(const Machine& machine, const std::string& key) {
  const bool leaks =
      machine.has_energy && machine.has_area && machine.energy.leakage_pj_per_cycle_per_mm2 > 0;
  return leaks && (is_one_of(key, {"core.count", "scratchpad.bytes"}) ||
                   (in_section(key, "units.") && key.ends_with(".count")));
}

std::string why_idle(const Program& program, const Machine& machine, const UsedResources& used,
                     const std::string& key) {
  if (changes_leakage(machine, key)) return "";
  if (in_section(key, "core.") || in_section(key, "links.") || in_section(key, "l2.")) {
    return used.tiles ? "" : "no region is a graph of tiles (fuseflow-cluster makes them)";
  }
  if (in_section(key, "dram.")) {
    if (used.tiles) return "";
    return used.memory ? why_not_memory(machine, key) : "no region reads or writes memory";
  }
  if (in_section(key, "scratchpad.")) return why_not_scratchpad(machine, used, key);
  return why_not_streams(program, used, key);
}

template <typename Why>
std::vector<IdleKey> with_reasons(const std::vector<std::string>& keys, const Why& why) {
  std::vector<IdleKey> idle;
  for (const std::string& key : keys) {
    const bool said = std::any_of(idle.begin(), idle.end(),
                                  [&](const IdleKey& other) { return other.key == key; });
    std::string reason = said ? "" : why(key);
    if (!reason.empty()) idle.push_back({key, std::move(reason)});
  }
  return idle;
}

}  // namespace

std::vector<IdleKey> idle_keys(const Program& program, const Machine& machine,
                               const Machine& without, const std::vector<std::string>& keys) {
  const UsedResources used = used_by(program);
  // The machine that has no units for streams gets them with any key of theirs; then they also do
  // conversions.
  const bool gets_streams = used.beside_tiles && machine.has_streams && !without.has_streams;
  return with_reasons(keys, [&](const std::string& key) -> std::string {
    if (gets_streams && part_of(key) == MachinePart::streams) return "";
    return why_idle(program, machine, used, key);
  });
}

std::vector<IdleKey> contradicted_keys(const Machine& machine,
                                       const std::vector<std::string>& keys) {
  return with_reasons(keys, [&](const std::string& key) -> std::string {
    if (key == "scratchpad.link_bytes_per_cycle" && machine.scratchpad.tiles == 1 &&
        !machine.has_cores) {
      return "`scratchpad.tiles` is 1";
    }
    if (!in_section(key, "dram.") || machine.has_cores) return "";
    return why_not_memory(machine, key);
  });
}

}  // namespace fuseflow
