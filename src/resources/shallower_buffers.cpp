#include "resources/shallower_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ir/names.h"
#include "nodes/rule.h"
#include "resources/resources.h"
#include "tensor/limits.h"

namespace fuseflow {

namespace {

/// The largest fair share of `room`: a buffer that wants less gets that, all others the same
/// each.
int64_t fair_share(std::vector<int64_t> wanted, int64_t room) {
  std::sort(wanted.begin(), wanted.end());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t each = room / static_cast<int64_t>(wanted.size() - i);
    if (wanted[i] > each) return each;
    room -= wanted[i];
  }
  return std::numeric_limits<int64_t>::max();
}

/// The buffers and accumulators of phases that hold their units together.
class BuffersHeld {
 public:
  explicit BuffersHeld(const Machine& machine) : machine_(machine) {}

  /// `capacity`: where the capacity of the node on the machine goes.
  void add(const Node& node, int64_t& capacity) {
    const bool fewer = node.kind == NodeKind::buffer && node.least > 0;
    const int64_t least = fewer ? node.least : capacity;
    holders_.push_back({&node, &capacity, is_fifo(node, least, machine_) ? 0 : least});
  }

  /// Gives each no more than the machine has room for, in bytes. True if any gets less.
  bool fit(int64_t room) {
    const bool fewer = save_units();
    return save_bytes(room) || fewer;
  }

 private:
  struct Holder {
    const Node* node;
    int64_t* capacity;
    int64_t least;  ///< tokens; 0: a FIFO will do
  };

  int64_t bytes(const Holder& of, int64_t tokens) const {
    return held_bytes(*of.node, tokens, machine_);
  }
  void give(const Holder& to, int64_t tokens) const {
    const bool fifo = is_fifo(*to.node, tokens, machine_);
    *to.capacity = fifo ? std::min<int64_t>(*to.capacity, machine_.fifo_depth) : tokens;
  }

  /// Where there are too few units, the smallest of the buffers that no node needs become FIFOs.
  bool save_units() {
    const int64_t count = machine_.timing(UnitClass::buffer).count;
    std::vector<Holder> spare;
    int64_t taken = 0;
    for (const Holder& of : holders_) {
      const bool fifo = is_fifo(*of.node, *of.capacity, machine_);
      if (of.node->kind != NodeKind::buffer || fifo) continue;
      ++taken;
      if (of.least == 0) spare.push_back(of);
    }
    if (count == 0 || taken <= count) return false;
    std::stable_sort(spare.begin(), spare.end(),
                     [](const Holder& a, const Holder& b) { return *a.capacity < *b.capacity; });
    spare.resize(std::min(spare.size(), static_cast<size_t>(taken - count)));
    for (const Holder& of : spare) give(of, 0);
    return !spare.empty();
  }

  bool save_bytes(int64_t room) {
    int64_t least = 0;
    int64_t all = 0;
    std::vector<int64_t> wanted;  // tokens beyond the least
    for (const Holder& of : holders_) {
      least = saturating_sum(least, bytes(of, of.least));
      all = saturating_sum(all, bytes(of, *of.capacity));
      if (bytes(of, *of.capacity) > bytes(of, of.least)) wanted.push_back(*of.capacity - of.least);
    }
    if (all <= std::max(room, least)) return false;
    const int64_t share = fair_share(std::move(wanted), std::max<int64_t>(0, room - least) / 4);
    for (const Holder& of : holders_) {
      if (*of.capacity > of.least) give(of, of.least + std::min(share, *of.capacity - of.least));
    }
    return true;
  }

  const Machine& machine_;
  std::vector<Holder> holders_;
};

}  // namespace

std::optional<Graph> with_shallower_buffers(const Program& program, const Graph& graph,
                                            const Machine& machine) {
  if (graph.tiles || graph.nodes.empty()) return std::nullopt;
  const bool bounded = machine.scratchpad.bytes > 0;
  if (!bounded && machine.timing(UnitClass::buffer).count == 0) return std::nullopt;
  std::vector<int64_t> capacities;
  for (const Node& node : graph.nodes) capacities.push_back(node.capacity);
  std::vector<BuffersHeld> held(static_cast<size_t>(graph.phases()), BuffersHeld(machine));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node_rule(node.kind).holds == KeptState::nothing) continue;
    held[static_cast<size_t>(taken_with(graph, node, machine))].add(node, capacities[n]);
  }
  const int64_t room = bounded ? machine.scratchpad.bytes - scratchpad_bytes(program, graph)
                               : std::numeric_limits<int64_t>::max();
  bool shallower = false;
  for (BuffersHeld& of : held) shallower = of.fit(room) || shallower;
  if (!shallower) return std::nullopt;
  Graph fitted = graph;
  for (size_t n = 0; n < capacities.size(); ++n) fitted.nodes[n].capacity = capacities[n];
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
    if (node_rule(fitted->nodes[n].kind).holds != KeptState::tokens) continue;
    wanted = saturating_sum(wanted, region.graph->nodes[n].capacity);
    given = saturating_sum(given, fitted->nodes[n].capacity);
  }
  const auto limit = [](int64_t of) { return of > 0 ? fmt::format("{}", of) : "any number of"; };
  return fmt::format(
      "@{}: its buffers hold {} tokens instead of {}: machine {} has a scratchpad of {} bytes and "
      "{} "
      "buffer units; rows of its loops overlap less, or less is loaded ahead. For more, place less "
      "in the scratchpad, split the region, or set scratchpad.bytes or units.buffer.count",
      quote_if_needed(region.name), given, wanted, machine.name, limit(machine.scratchpad.bytes),
      limit(machine.timing(UnitClass::buffer).count));
}

}  // namespace fuseflow
