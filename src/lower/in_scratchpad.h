// Which tensors a lowered region holds in the scratchpad.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Of a program with one region: what is declared to be there, and an intermediate of the region if
/// every stored use says so.
inline bool in_scratchpad(const Program& program, TensorId tensor) {
  const Tensor& t = program.tensors[static_cast<size_t>(tensor)];
  const bool stays = t.placement == Placement::scratchpad;
  const bool given = stays || t.given();
  bool scratchpad = stays;
  bool memory = false;
  for (const UsePlacement& use : program.regions[0].schedule.placements) {
    if (use.tensor != tensor) continue;
    scratchpad = scratchpad || use.placement == Placement::scratchpad;
    memory = memory || use.placement == Placement::memory;
  }
  return scratchpad && !memory && (given || is_internal(program, 0, tensor));
}

}  // namespace fuseflow
