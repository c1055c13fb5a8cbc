// Parallel copies of loops (the lines `parallel i = P` of schedules): which loops may have them,
// and how many are expected to pay.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Twice the copies of these loops, of each that has the elements for it (`extents`, by loop); as
/// they are where none has.
std::vector<Parallel> doubled_copies(std::vector<Parallel> copies,
                                     const std::vector<std::string>& loops,
                                     const std::map<std::string, int64_t>& extents);

struct CopyLimits {
  int64_t copies = 64;  ///< of one loop
  double effort = std::numeric_limits<double>::infinity();
};

/// Gives the loops of one region those copies that are expected to pay, each doubling by 3% or
/// more. Says what it chose.
void choose_copies_of(Program& program, size_t region, const CopyLimits& limits, CostModel& costs,
                      PassLog& log);

/// A program with copies of loops of one of its regions.
struct CopiedRegion {
  Program program;
  PassLog notes;             ///< what was chosen, after what was said before
  std::optional<Cost> cost;  ///< of the region
};

/// The same from several placements: as given; with what it reads in memory; with all that it
/// stores there, too, since the ports of copies take turns in the scratchpad, and their buffers
/// need room there. One or more, the fastest by estimate first.
std::vector<CopiedRegion> copies_of_region(CopiedRegion given, size_t region,
                                           const CopyLimits& limits, CostModel& costs);

/// Gives the loops of regions without a graph parallel copies with which they are expected to be
/// faster than as given, by 3% or more for each doubling. `verbose`: what else was tried.
Program choose_copies(Program program, CostModel& costs, bool verbose, PassLog& log);

/// CSV: a row for every loop of a region, the outermost first: its extent, its copies, and why it
/// can have no copies, where that is so.
std::string copies_csv(const Program& program);

}  // namespace fuseflow
