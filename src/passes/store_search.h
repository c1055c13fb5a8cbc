// Search over sets of placements of a region, with the order of its loops: which intermediates are
// stored instead of streamed or computed again. What is alike moves together; what storing others
// has made redundant is dropped. How: ir-spec/lowering.md, "What chooses".
#pragma once

#include <vector>

#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// A schedule that the search has judged. `schedule` is what was asked for: choose_placements with
/// `recompute_always` stores in addition what cannot be lowered otherwise.
struct StoreTrial {
  Schedule schedule;
  Cost cost;
};

struct StoreSearch {
  Program program;                 ///< the best, without the region's graph
  Cost cost;                       ///< of the region
  Cost first;                      ///< as it was given
  std::vector<StoreTrial> judged;  ///< in the order in which they were
};

/// Starts from the region's schedule, which must say where every stored intermediate is. `costs`
/// judges; null: expected stream lengths do. Placements of single uses and of inputs stay, and so
/// does a schedule with an order. `most_effort`: effort.h.
StoreSearch search_stores(const Program& given, size_t region, const Machine& machine,
                          CostModel* costs, double most_effort);

/// Searches the stores of a region, and changes the program if anything is better. Says what it
/// changed; gives whether it did.
bool improve_stores(Program& program, size_t region, const Machine& machine, CostModel* costs,
                    PassLog& log, double most_effort);

}  // namespace fuseflow
