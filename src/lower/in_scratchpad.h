// Where a lowered region holds tensors.
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// By tensor of a program with one region.
struct HeldTensors {
  /// In the scratchpad: what is declared to be there; what comes from outside of the region (an
  /// input, or what another region computes: it is loaded when the region starts) and an
  /// intermediate of the region if every stored use says so.
  std::vector<bool> on_chip;
  std::vector<bool> internal;  ///< an intermediate of the region

  explicit HeldTensors(size_t tensors) : on_chip(tensors, false), internal(tensors, false) {}
};

inline HeldTensors held_tensors(const Program& program) {
  const Region& region = program.regions[0];
  HeldTensors held(program.tensors.size());
  std::vector<bool> defined(program.tensors.size(), false);
  for (const Statement& statement : region.statements) {
    const auto t = static_cast<size_t>(statement.result);
    defined[t] = true;
    held.internal[t] = program.tensors[t].role == Role::temporary;
  }
  std::vector<bool> memory(program.tensors.size(), false);
  for (const UsePlacement& use : region.schedule.placements) {
    const auto t = static_cast<size_t>(use.tensor);
    if (use.placement == Placement::scratchpad) held.on_chip[t] = true;
    if (use.placement == Placement::memory) memory[t] = true;
  }
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const bool stays = program.tensors[t].placement == Placement::scratchpad;
    const bool may_be_there = stays || !defined[t] || held.internal[t];
    held.on_chip[t] = (held.on_chip[t] || stays) && !memory[t] && may_be_there;
  }
  return held;
}

}  // namespace fuseflow
