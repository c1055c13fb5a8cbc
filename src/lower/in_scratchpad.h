// Which tensors a lowered region holds in the scratchpad.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// Whether a tensor of a program with one region is in the scratchpad: what is declared to be
/// there; what comes from outside of the region (an input, or what another region computes: it is
/// loaded when the region starts) and an intermediate of the region if every stored use says so.
inline bool in_scratchpad(const Program& program, TensorId tensor) {
  const std::vector<Statement>& statements = program.regions[0].statements;
  const bool defined = std::any_of(statements.begin(), statements.end(),
                                   [&](const Statement& s) { return s.result == tensor; });
  const bool stays =
      program.tensors[static_cast<size_t>(tensor)].placement == Placement::scratchpad;
  bool scratchpad = stays;
  bool memory = false;
  for (const UsePlacement& use : program.regions[0].schedule.placements) {
    if (use.tensor != tensor) continue;
    scratchpad = scratchpad || use.placement == Placement::scratchpad;
    memory = memory || use.placement == Placement::memory;
  }
  return scratchpad && !memory && (stays || !defined || is_internal(program, 0, tensor));
}

/// The same of all tensors.
inline std::vector<bool> tensors_in_scratchpad(const Program& program) {
  const Region& region = program.regions[0];
  std::vector<bool> chip(program.tensors.size(), false);
  std::vector<bool> stays(program.tensors.size(), false);
  std::vector<bool> memory(program.tensors.size(), false);
  for (size_t t = 0; t < chip.size(); ++t) {
    chip[t] = stays[t] = program.tensors[t].placement == Placement::scratchpad;
  }
  for (const UsePlacement& use : region.schedule.placements) {
    const auto t = static_cast<size_t>(use.tensor);
    if (use.placement == Placement::scratchpad) chip[t] = true;
    if (use.placement == Placement::memory) memory[t] = true;
  }
  for (const Statement& statement : region.statements) {
    const auto t = static_cast<size_t>(statement.result);
    const bool internal = program.tensors[t].role == Role::temporary;
    if (!stays[t] && !internal) chip[t] = false;
  }
  for (size_t t = 0; t < chip.size(); ++t) {
    if (memory[t]) chip[t] = false;
  }
  return chip;
}

}  // namespace fuseflow
