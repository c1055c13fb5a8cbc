// What `fuseflow-place --auto` tries: placements for every region. Which of the resulting programs
// is taken, and what a user asks for, is place.cpp's.
#pragma once

#include <optional>

#include "machine/machine.h"
#include "passes/choose.h"
#include "passes/cost_model.h"

namespace fuseflow {

/// The program with placements chosen for each region by itself. `costs` judges; null: expected
/// stream lengths do.
Candidate with_chosen_placements(const Program& given, const Machine& machine, CostModel* costs);

/// The regions read tensors as they are declared, where they read copies: like an order, a format
/// may have been chosen for placements that are chosen anew. Nothing where none does.
std::optional<Program> without_copies_read(const Program& given);

}  // namespace fuseflow
