// What the parts of a search over one program share: what is given, the trials so far, and the
// time. Data alone: who changes it is in the files of the parts.
#pragma once

#include <vector>

#include "explore/journal.h"
#include "explore/search_clock.h"
#include "explore/search_options.h"
#include "explore/trial_table.h"
#include "search/stream_kernels.h"

namespace fuseflow {

struct SearchState {
  const Program& kernels;
  const int64_t block;  ///< side of the blocks of the kernels; 1: as they are given
  const Machine& machine;
  const SearchOptions& options;
  const std::vector<Seed> seeds;  ///< the strategies too
  const StreamKernels streams;
  Evaluator evaluator;
  TrialTable table;
  SearchClock pace;
  Journal& journal;
};

}  // namespace fuseflow
