// What the nodes of a graph do, as counted actions: the table that energy is made of. From counts
// of a run or of an estimate; no prices here (price.h). Definitions: ir-spec/energy.md.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"

namespace fuseflow {

/// Position of a kind of action in every table of actions: operations by kind and width, steps by
/// unit class, and those named here.
using ActionId = size_t;

inline constexpr ActionId operation(Arithmetic arithmetic, Width width) {
  return static_cast<size_t>(arithmetic) * kWidths + static_cast<size_t>(width);
}
inline constexpr ActionId kFirstStep = kArithmetics * kWidths;
inline constexpr ActionId step_of(UnitClass unit) {
  return kFirstStep + static_cast<size_t>(unit);
}
inline constexpr ActionId kFirstNamed = kFirstStep + static_cast<size_t>(kUnitClasses);
inline constexpr ActionId kFifoWord = kFirstNamed;
inline constexpr ActionId kBufferByte = kFirstNamed + 1;
inline constexpr ActionId kScratchpadReadByte = kFirstNamed + 2;
inline constexpr ActionId kScratchpadWriteByte = kFirstNamed + 3;
inline constexpr ActionId kLinkByte = kFirstNamed + 4;
inline constexpr ActionId kRegisterByte = kFirstNamed + 5;
inline constexpr ActionId kDramBurst = kFirstNamed + 6;
inline constexpr ActionId kDramActivation = kFirstNamed + 7;
inline constexpr ActionId kLeak = kFirstNamed + 8;  ///< a cycle
inline constexpr size_t kActions = kFirstNamed + 9;

/// The parts that a node's energy is shown in.
enum class ActionGroup : uint8_t {
  operators,
  steps,
  fifo,
  buffer,
  scratchpad,
  link,
  registers,
  dram,
  leakage,
  count_
};
inline constexpr size_t kActionGroups = static_cast<size_t>(ActionGroup::count_);

/// "scan", "step" for the steps of scans; "dram", "burst".
struct ActionInfo {
  std::string_view component;
  std::string_view name;
  ActionGroup group = ActionGroup::operators;
};
ActionInfo action_info(ActionId action);

/// How often each action happens. Numbers are whole, unless they are expectations or shares of
/// bytes that cross links.
struct Actions {
  std::array<double, kActions> count{};
  double& operator[](ActionId action) { return count[action]; }
  double operator[](ActionId action) const { return count[action]; }
  Actions& operator+=(const Actions& other);
};

/// What is known of one node. A word is 4 bytes; a token is a word, a block as many as it has
/// elements.
struct NodeWork {
  double steps = 0, flops = 0;
  double words_in = 0;                     ///< of the tokens that it takes
  double words_out = 0;                    ///< of those that it gives to streams with consumers
  double read_bytes = 0, write_bytes = 0;  ///< of its tensor, wherever it is
  /// Graphs of tiles alone: what it moves on chip.
  double tile_scratchpad_read = 0, tile_scratchpad_write = 0, tile_link = 0, tile_registers = 0;
};

/// What is known of one run of a graph.
struct RegionWork {
  std::vector<NodeWork> nodes;  ///< by NodeId
  double cycles = 0;
  double bursts = 0, activations = 0;  ///< of memory
  double loaded_bytes = 0;             ///< of inputs that are loaded into the scratchpad at first
};

struct RegionActions {
  std::vector<Actions> nodes;        ///< by NodeId
  Actions memory, loading, leakage;  ///< of no node: DRAM; inputs of the scratchpad; the clock
  Actions sum() const;
};

RegionActions region_actions(const Graph& graph, const Machine& machine, const RegionWork& work);

/// Words of the tokens of each stream, by StreamId (NodeWork).
std::vector<double> token_words(const Graph& graph);

/// Bursts that hold so many bytes, where no model of memory counts them.
double bursts_of(const Machine& machine, double bytes);

}  // namespace fuseflow
