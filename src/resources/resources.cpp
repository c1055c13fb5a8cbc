#include "resources/resources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/names.h"
#include "nodes/rule.h"
#include "resources/shallower_buffers.h"
#include "resources/shortage.h"
#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"
#include "tensor/limits.h"
#include "tensor/storage.h"

namespace fuseflow {

UnitClass unit_class(NodeKind kind) {
  const std::optional<UnitClass>& unit = node_rule(kind).unit;
  if (!unit) throw Defect(fmt::format("{} has no unit", node_kind_name(kind)));
  return *unit;
}

namespace {

int64_t saturating(uint64_t bytes) {
  return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX));
}

uint64_t extent_of(const Tensor& tensor, size_t level) {
  return static_cast<uint64_t>(std::max<int64_t>(0, tensor.level_extent(level)));
}

/// The coordinates that a place above the level may have there: those of a run of coordinates (a
/// level, then singletons) are tuples.
uint64_t most_tuples(const Tensor& tensor, size_t level) {
  const std::vector<LevelKind>& levels = tensor.format.levels;
  uint64_t tuples = extent_of(tensor, level);
  for (size_t l = level + 1; l < levels.size() && levels[l] == LevelKind::singleton; ++l) {
    tuples = saturating_product(tuples, extent_of(tensor, l));
  }
  return tuples;
}

/// The most that a tensor can need: the arrays of Level (tensor/storage.h), and values.
int64_t most_bytes(const Tensor& tensor) {
  uint64_t places = 1;
  uint64_t bytes = 0;
  const auto add = [&](uint64_t size, uint64_t count) {
    const uint64_t more = saturating_product(size, count);
    bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
  };
  for (size_t l = 0; l < tensor.format.levels.size(); ++l) {
    const LevelKind kind = tensor.format.levels[l];
    if (kind == LevelKind::compressed || kind == LevelKind::bitvector) {
      add(4, places);  // positions: where each fiber begins,
      add(4, 1);       // and where the last one ends
    }
    if (kind == LevelKind::bitvector) {
      const uint64_t words = ceil_div(extent_of(tensor, l), uint64_t{kLevelWordBits});
      add(8, saturating_product(words, places));
    }
    if (kind != LevelKind::singleton) places = saturating_product(places, most_tuples(tensor, l));
    if (tensor.source.nnz && kind != LevelKind::dense) {
      places = std::min(places, static_cast<uint64_t>(*tensor.source.nnz));
    }
    if (kind == LevelKind::compressed || kind == LevelKind::singleton) add(4, places);
  }
  const int64_t value = tensor.format.block_volume() * element_bytes(tensor.type);
  add(static_cast<uint64_t>(value), places);
  return saturating(bytes);
}

}  // namespace

bool is_fifo(const Node& node, int64_t tokens, const Machine& machine) {
  if (node.kind != NodeKind::buffer || node.least != 1) return false;
  return machine.fifo_depth == 0 || tokens <= machine.fifo_depth;
}

int64_t held_bytes(const Node& node, int64_t tokens, const Machine& machine) {
  if (is_fifo(node, tokens, machine)) return 0;
  const auto count = static_cast<uint64_t>(std::max<int64_t>(0, tokens));
  switch (node_rule(node.kind).holds) {
    case KeptState::nothing:
      return 0;
    case KeptState::tokens:
      return saturating(saturating_product(4, count));
    case KeptState::entries:
      const uint64_t stores = machine.accumulate_double_buffered ? 2 : 1;
      const auto entry = 4 * (1 + static_cast<uint64_t>(node.order));
      return saturating(saturating_product(stores * entry, count));
  }
  return 0;
}

int taken_with(const Graph& graph, const Node& node, const Machine& machine) {
  return machine.phases_hold_units_together ? 0 : graph.last_started_with(node.phase);
}

int64_t scratchpad_bytes(const Program& program, const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorId t : graph.scratchpad) {
    bytes = saturating_sum(bytes, most_bytes(program.tensors[static_cast<size_t>(t)]));
  }
  return bytes;
}

Resources region_resources(const Program& program, const Graph& graph, const Machine& machine) {
  if (const auto fitted = with_shallower_buffers(program, graph, machine)) {
    return region_resources(program, *fitted, machine);
  }
  Resources result;
  const int phases = graph.phases();
  result.phases.resize(static_cast<size_t>(machine.phases_hold_units_together ? 1 : phases));
  for (const Node& node : graph.nodes) {
    PhaseResources& phase = result.phases[static_cast<size_t>(taken_with(graph, node, machine))];
    const bool unit = !is_fifo(node, node.capacity, machine);
    if (unit) ++phase.units[static_cast<size_t>(unit_class(node.kind))];
    phase.buffer_bytes =
        saturating_sum(phase.buffer_bytes, held_bytes(node, node.capacity, machine));
  }
  result.tensor_bytes = scratchpad_bytes(program, graph);
  return result;
}

std::string_view lacking_part(const Graph& graph, const Machine& machine) {
  if (graph.tiles) return machine.has_cores ? "" : "cores";
  if (is_conversion(graph)) return "";  // units or cores do it (sim/common/conversion.h)
  return machine.has_streams ? "" : "streams";
}

namespace {

std::string planned_for(const Region& region) {
  for (const auto& [key, value] : region.plan) {
    if (key == "machine") return fmt::format("; its plan was made for machine {}", value);
  }
  return "";
}

}  // namespace

std::string lacking_streams(const Program& program, const Machine& machine) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  size_t lacking = 0;
  for (const Region& region : program.regions) {
    const bool streams = !region.graph || !(region.graph->tiles || is_conversion(*region.graph));
    if (!streams || machine.has_streams) continue;
    if (++lacking <= kNamed) names.push_back("@" + quote_if_needed(region.name));
  }
  if (lacking == 0) return "";
  const std::string more = lacking > kNamed ? fmt::format(" and {} more", lacking - kNamed) : "";
  return fmt::format(
      "machine {} has no units for streams (no section `[units]`), so {}{} run{} on units without "
      "limits and with free memory: neither these cycles nor the total are those of a machine",
      machine.name, fmt::join(names, ", "), more, lacking == 1 ? "s" : "");
}

/// What to do about tensors on chip that are counted with all their elements, since nothing says
/// how many entries they have; empty if there is none.
std::string advice_on_entries(const Program& program, const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorId t : graph.scratchpad) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(t)];
    if (!tensor.given() || tensor.format.all_dense() || tensor.source.nnz) continue;
    names.push_back("%" + quote_if_needed(tensor.name));
  }
  if (names.empty()) return "";
  return fmt::format("state how many entries {} {} (`nnz=` in the source), ",
                     fmt::join(names, ", "), names.size() == 1 ? "has" : "have");
}

std::optional<Shortage> shortage_of(const Program& program, const Region& region,
                                    const Graph& graph, const Machine& machine) {
  if (graph.tiles) return std::nullopt;
  const Resources needed = region_resources(program, graph, machine);
  int64_t buffers = 0;
  for (const PhaseResources& phase : needed.phases) {
    buffers = std::max(buffers, phase.buffer_bytes);
    for (int u = 0; u < kUnitClasses; ++u) {
      const auto unit = static_cast<UnitClass>(u);
      const int64_t count = machine.timing(unit).count;
      if (count == 0 || phase.units[static_cast<size_t>(u)] <= count) continue;
      const std::string key = fmt::format("units.{}.count", unit_class_name(unit));
      return Shortage{
          key,
          fmt::format("region @{} needs {} {} units, machine {} has {}; split the region{}, "
                      "or set {}",
                      quote_if_needed(region.name), phase.units[static_cast<size_t>(u)],
                      unit_class_name(unit), machine.name, count,
                      graph.row_phases.empty() ? "" : ", let its phases take turns (`barriers`)",
                      key)};
    }
  }
  const int64_t bytes = saturating_sum(needed.tensor_bytes, buffers);
  if (machine.scratchpad.bytes == 0 || bytes <= machine.scratchpad.bytes) return std::nullopt;
  return Shortage{
      "scratchpad.bytes",
      fmt::format("region @{} holds up to {} bytes on chip ({} of tensors in the scratchpad, {} in "
                  "buffers and accumulators), machine {} has {}; {}{}split the region, or "
                  "set scratchpad.bytes",
                  quote_if_needed(region.name), bytes, needed.tensor_bytes, buffers, machine.name,
                  machine.scratchpad.bytes,
                  needed.tensor_bytes > 0 ? "place less of it there, " : "",
                  advice_on_entries(program, graph))};
}

double share_beyond(const Program& program, const Graph& graph, const Machine& machine) {
  if (graph.tiles) return 0;
  const Resources needed = region_resources(program, graph, machine);
  double share = 0;
  const auto add = [&](int64_t needs, int64_t has) {
    if (has > 0 && needs > has)
      share += static_cast<double>(needs - has) / static_cast<double>(has);
  };
  int64_t buffers = 0;
  for (const PhaseResources& phase : needed.phases) {
    buffers = std::max(buffers, phase.buffer_bytes);
    for (int u = 0; u < kUnitClasses; ++u) {
      add(phase.units[static_cast<size_t>(u)], machine.timing(static_cast<UnitClass>(u)).count);
    }
  }
  add(saturating_sum(needed.tensor_bytes, buffers), machine.scratchpad.bytes);
  return share;
}

std::string why_too_large(const Program& program, const Region& region, const Graph& graph,
                          const Machine& machine) {
  if (graph.tiles) {
    if (machine.has_cores) return "";  // what a core holds is checked where tiles run
    return fmt::format(
        "region @{} is a graph of tiles, machine {} has no cores{}; expected a machine with a "
        "section `[core]`, such as --machine h100",
        quote_if_needed(region.name), machine.name, planned_for(region));
  }
  const auto shortage = shortage_of(program, region, graph, machine);
  return shortage ? shortage->message : "";
}

}  // namespace fuseflow
