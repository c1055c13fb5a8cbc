#include "resources/shallower_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/names.h"
#include "resources/resources.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

/// Bytes of the buffers and accumulators of phases that hold their units together.
struct Held {
  int64_t least = 0;  ///< with no buffer deeper than it must be
  int64_t more = 0;   ///< beyond, with all as deep as they were lowered
};

int64_t least_tokens(const Node& node) {
  return node.kind == NodeKind::buffer && node.least > 0 ? node.least : node.capacity;
}

std::vector<Held> held_by(const Graph& graph, const Machine& machine) {
  std::vector<Held> held(static_cast<size_t>(graph.phases()));
  for (const Node& node : graph.nodes) {
    Held& with = held[static_cast<size_t>(taken_with(graph, node, machine))];
    const int64_t least = held_bytes(node, least_tokens(node), machine);
    with.least = saturating_sum(with.least, least);
    with.more = saturating_sum(with.more, held_bytes(node, node.capacity, machine) - least);
  }
  return held;
}

/// `part` of `whole`, as a share of `amount`, rounded down.
int64_t share(int64_t amount, int64_t part, int64_t whole) {
  __extension__ using Wide = __int128;
  return static_cast<int64_t>(Wide{amount} * part / whole);
}

}  // namespace

std::optional<Graph> with_shallower_buffers(const Program& program, const Graph& graph,
                                            const Machine& machine) {
  if (graph.tiles || graph.nodes.empty() || machine.scratchpad.bytes == 0) return std::nullopt;
  const std::vector<Held> held = held_by(graph, machine);
  const int64_t on_chip = machine.scratchpad.bytes - scratchpad_bytes(program, graph);
  const auto room = [&](const Held& of) { return std::max<int64_t>(0, on_chip - of.least); };
  if (std::all_of(held.begin(), held.end(), [&](const Held& of) { return of.more <= room(of); })) {
    return std::nullopt;
  }
  Graph fitted = graph;
  for (Node& node : fitted.nodes) {
    const Held& with = held[static_cast<size_t>(taken_with(graph, node, machine))];
    const int64_t least = least_tokens(node);
    if (with.more <= room(with) || least == node.capacity) continue;
    node.capacity = least + share(node.capacity - least, room(with), with.more);
  }
  return fitted;
}

void fit_buffers(Program& program, const Machine& machine) {
  for (Region& region : program.regions) {
    if (!region.graph) continue;
    std::optional<Graph> fitted = with_shallower_buffers(program, *region.graph, machine);
    if (fitted) region.graph = std::move(fitted);
  }
}

std::string shallower_buffers_note(const Program& program, const Region& region,
                                   const Machine& machine) {
  if (!region.graph) return "";
  const auto fitted = with_shallower_buffers(program, *region.graph, machine);
  if (!fitted || !why_too_large(program, region, *fitted, machine).empty()) return "";
  int64_t wanted = 0;
  int64_t given = 0;
  for (size_t n = 0; n < fitted->nodes.size(); ++n) {
    if (fitted->nodes[n].kind != NodeKind::buffer) continue;
    wanted = saturating_sum(wanted, region.graph->nodes[n].capacity);
    given = saturating_sum(given, fitted->nodes[n].capacity);
  }
  return fmt::format(
      "@{}: its buffers hold {} tokens instead of {}: machine {} has a scratchpad of {} bytes; "
      "rows of its loops overlap less",
      quote_if_needed(region.name), given, wanted, machine.name, machine.scratchpad.bytes);
}

}  // namespace fuseflow
