// Which tensors a lowered region holds in the scratchpad.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Of a program with one region: an input by its placement, an intermediate if every stored use in
/// the region says so.
inline bool in_scratchpad(const Program& program, TensorId tensor) {
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  const bool given = t.role == Role::input || t.role == Role::constant;
  bool scratchpad = given && t.placement == Placement::scratchpad;
  bool memory = false;
  for (const UsePlacement& use : program.regions[0].schedule.placements) {
    if (use.tensor != tensor) continue;
    scratchpad = scratchpad || use.placement == Placement::scratchpad;
    memory = memory || use.placement == Placement::memory;
  }
  return scratchpad && !memory && (given || is_internal(program, 0, tensor));
}

}  // namespace fuseflow
