// The best program of a search as a whole. The search simulates regions alone; here their program
// is simulated once more, and what may stay on chip between its regions is decided. Knows nothing
// of points.
#pragma once

#include <functional>

#include "explore/journal.h"
#include "explore/search_result.h"

namespace fuseflow {

/// Simulates the seeds as they are, where the machine has what they need, until a signal comes;
/// what one takes is kept in the journal, and not found again. Those that do not end, or are
/// refused, are left to compare_wholes().
void run_seeds(std::vector<WholeSeed>& seeds, const Machine& machine, const SearchOptions& options,
               Journal& journal);

/// Simulates `result.program` as fuseflow-sim does and takes over its cycles. Where less cycles are
/// searched for, intermediates then stay in the scratchpad between regions if that is faster by
/// estimate and as simulated. Notes what it changes; does nothing without a program.
void finish_best(SearchResult& result, const Machine& machine, int threads);

/// Simulates the seeds `result.wholes` as they are, as fuseflow-sim does, and takes the best of
/// them where it costs less than the best program so far: what a seed holds beside its regions no
/// point has. Those that run_seeds() has run are not run again, and count after a signal, too. Once
/// it is `late`, a seed that cannot win is not run to its end. Notes seeds that the machine cannot
/// run.
void compare_wholes(SearchResult& result, const Machine& machine, int threads,
                    const std::function<bool()>& late);

}  // namespace fuseflow
