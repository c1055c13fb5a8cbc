// A program as graphs of tiles, without a word: what fuseflow-cluster makes of it, for a search
// that compares it with streams. Each region is planned only where it wins, as the filter does.
#pragma once

#include "cluster/chain/choice.h"
#include "cluster/chain/recognize.h"
#include "cluster/common/attach_plan.h"
#include "cluster/common/given_formats.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// The plan of a chain (padded) as notes on its region.
PlanNotes plan_notes(const Chain& chain, const Machine& machine, const MeasuredPlan& best);

/// What a program has without a chain, in cycles.
struct ChainRivals {
  int64_t kernels = 0;      ///< of its statements, dense, folded where that is faster
  int64_t leaving_out = 0;  ///< ... that leave out tiles without a value; 0: there are none
  /// Against a plan of so many.
  bool win(int64_t cycles) const {
    return cycles >= kernels || (leaving_out > 0 && cycles >= leaving_out);
  }
};
ChainRivals rivals_of(const Program& program, const FoundChain& found, const Choice& choice,
                      const GivenFormats& given, const Machine& machine);

/// Every statement a kernel of tiles (`none`), or chains and attentions fused where that is faster
/// and the rest kernels (`tiles`). Regions that have no such form stay as they are. Inputs arrive
/// as `given` says, and are in the formats that kernels read: what that costs is not in it.
Program kernels_apart(Program program, const GivenFormats& given, const Machine& machine);
Program planned_program(Program program, const GivenFormats& given, const Machine& machine,
                        const Effort& effort, int threads);

/// Throws Error(internal) where what was planned breaks a rule of programs, which every tool that
/// reads it would report: a plan that does not run is an error of the planner, not of its input.
void require_sound(const Program& planned);

}  // namespace fuseflow::cluster
