#include "cluster/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <toml++/toml.h>
#include <cmath>
#include <functional>
#include <sstream>

#include "cluster/h100_preset.h"
#include "machine/keys.h"
#include "support/error.h"
#include "support/io.h"

namespace fuseflow::cluster {
namespace {

/// One number of the machine: its dotted key and where it goes.
struct Field {
  std::string key;
  std::function<void(ClusterMachine&, double)> set;
  bool whole = false;
};

Field real(std::string key, double ClusterMachine::*member) {
  return {std::move(key), [member](ClusterMachine& m, double v) { m.*member = v; }};
}

Field whole(std::string key, int64_t ClusterMachine::*member) {
  return {std::move(key),
          [member](ClusterMachine& m, double v) { m.*member = static_cast<int64_t>(v); }, true};
}

std::vector<Field> link_fields() {
  std::vector<Field> fields;
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    const std::string size = std::to_string(kClusterSizes[i]);
    fields.push_back({"links.bandwidth_gigabytes_per_second." + size,
                      [i](ClusterMachine& m, double v) { m.link_gigabytes_per_second[i] = v; }});
    fields.push_back(
        {"links.latency_cycles." + size,
         [i](ClusterMachine& m, double v) { m.link_latency_cycles[i] = static_cast<int64_t>(v); },
         true});
  }
  return fields;
}

const std::vector<Field>& fields() {
  using M = ClusterMachine;
  static const std::vector<Field> kFields = [] {
    std::vector<Field> all = {
        real("clock_gigahertz", &M::clock_gigahertz),
        whole("core.count", &M::cores),
        real("core.matrix_flops_per_cycle", &M::matrix_flops_per_cycle),
        whole("core.register_bytes", &M::register_bytes),
        real("core.register_bytes_per_cycle", &M::register_bytes_per_cycle),
        whole("core.scratchpad_bytes", &M::scratchpad_bytes),
        real("core.scratchpad_bytes_per_cycle", &M::scratchpad_bytes_per_cycle),
        whole("core.scratchpad_latency_cycles", &M::scratchpad_latency_cycles),
        whole("core.matrix_latency_cycles", &M::matrix_latency_cycles),
        real("global.bandwidth_gigabytes_per_second", &M::global_gigabytes_per_second),
        whole("global.latency_cycles", &M::global_latency_cycles),
        whole("global.channels", &M::global_channels),
        real("global.core_port_bytes_per_cycle", &M::core_port_bytes_per_cycle)};
    for (Field& field : link_fields()) {
      all.push_back(std::move(field));
    }
    return all;
  }();
  return kFields;
}

const Field* find_field(std::string_view key) {
  for (const Field& field : fields()) {
    if (field.key == key) {
      return &field;
    }
  }
  return nullptr;
}

[[noreturn]] void unknown_key(ExitCode code, const Location& where, const std::string& key) {
  std::vector<std::string> names{"name"};
  for (const Field& field : fields()) {
    names.push_back(field.key);
  }
  const std::string near = nearest_name(key, names);
  throw Error(code, where,
              fmt::format("unknown machine key '{}'{}", key,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

void assign(ClusterMachine& machine, const Field& field, double value, ExitCode code,
            const Location& where) {
  const bool usable = value > 0 && value <= 1e15 && (!field.whole || value == std::floor(value));
  if (!usable) {
    throw Error(code, where,
                fmt::format("'{}' is {}, expected a positive {}", field.key, value,
                            field.whole ? "whole number" : "number"));
  }
  field.set(machine, value);
}

Location place(const toml::node& node, const std::string& file) {
  return {file, static_cast<int>(node.source().begin.line),
          static_cast<int>(node.source().begin.column)};
}

/// One file describes a machine for all tools: the simulator's keys are skipped here.
bool belongs_to_simulator(const std::string& key) {
  Machine machine;
  const std::vector<MachineKey> keys = machine_keys(machine);
  return std::any_of(keys.begin(), keys.end(),
                     [&](const MachineKey& known) { return known.name == key; });
}

/// Walks a table, assigning every number and noting its key in `seen`.
void read_table(const toml::table& table, const std::string& prefix, const std::string& file,
                ClusterMachine& machine, std::vector<std::string>& seen) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const Location where = place(node, file);
    if (const toml::table* inner = node.as_table()) {
      read_table(*inner, key + ".", file, machine, seen);
    } else if (key == "name" && node.is_string()) {
      machine.name = node.as_string()->get();
    } else if (const Field* field = find_field(key)) {
      const auto value = node.value<double>();
      if (!value) {
        throw Error(ExitCode::rejected, where,
                    fmt::format("'{}' is not a number, expected a number", key));
      }
      assign(machine, *field, *value, ExitCode::rejected, where);
      seen.push_back(key);
    } else if (!belongs_to_simulator(key)) {
      unknown_key(ExitCode::rejected, where, key);
    }
  }
}

void apply_setting(ClusterMachine& machine, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    throw Error(ExitCode::usage,
                fmt::format("bad machine setting '{}', expected key=value", setting));
  }
  const std::string key = setting.substr(0, equals);
  const Field* field = find_field(key);
  if (field == nullptr) {
    unknown_key(ExitCode::usage, {}, key);
  }
  std::istringstream text(setting.substr(equals + 1));
  text.imbue(std::locale::classic());
  double value = 0;
  if (!(text >> value) || text.peek() != std::istringstream::traits_type::eof()) {
    throw Error(ExitCode::usage, fmt::format("bad value in '{}', expected a number", setting));
  }
  assign(machine, *field, value, ExitCode::usage, {});
}

}  // namespace

int cluster_size_index(int cores) {
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    if (kClusterSizes[i] == cores) {
      return static_cast<int>(i);
    }
  }
  throw Error(ExitCode::internal, fmt::format("no links for a cluster of {} cores", cores));
}

double ClusterMachine::link_bytes_per_cycle(int cluster_cores) const {
  const auto i = static_cast<size_t>(cluster_size_index(cluster_cores));
  return link_gigabytes_per_second[i] / clock_gigahertz / static_cast<double>(cores);
}

int64_t ClusterMachine::link_latency(int cluster_cores) const {
  return link_latency_cycles[static_cast<size_t>(cluster_size_index(cluster_cores))];
}

ClusterMachine parse_machine(const std::string& text, const std::string& file,
                             const std::vector<std::string>& settings) {
  ClusterMachine machine;
  machine.name = file;
  std::vector<std::string> seen;
  try {
    read_table(toml::parse(text, file), "", file, machine, seen);
  } catch (const toml::parse_error& wrong) {
    const toml::source_position at = wrong.source().begin;
    throw Error(ExitCode::rejected,
                Location{file, static_cast<int>(at.line), static_cast<int>(at.column)},
                std::string(wrong.description()));
  }
  for (const Field& field : fields()) {
    if (std::find(seen.begin(), seen.end(), field.key) == seen.end()) {
      throw Error(ExitCode::rejected, Location{file},
                  fmt::format("machine key '{}' is missing, expected a number", field.key));
    }
  }
  for (const std::string& setting : settings) {
    apply_setting(machine, setting);
  }
  return machine;
}

ClusterMachine load_machine(const std::string& name_or_file,
                            const std::vector<std::string>& settings) {
  if (name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".toml")) {
    const SourceText source = read_source(name_or_file);
    return parse_machine(source.text, source.name, settings);
  }
  if (name_or_file != "h100") {
    throw Error(ExitCode::usage,
                fmt::format("unknown machine '{}', expected h100 or a .toml file with the cores "
                            "and links of a clustered machine",
                            name_or_file));
  }
  return parse_machine(kH100Preset, "machines/h100.toml", settings);
}

}  // namespace fuseflow::cluster
