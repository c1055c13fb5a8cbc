// What became of statements that one kernel may compute together, whatever pattern they are of.
#pragma once

#include <string>
#include <vector>

#include "cluster/common/attach_plan.h"
#include "cluster/common/timings.h"

namespace fuseflow::cluster {

struct KernelOutcome {
  enum class Kind : uint8_t {
    refused,  ///< no form, no tiles that fit, or no place in the program: `why`
    slower,   ///< what they take otherwise is not
    found,    ///< not measured
    taken,    ///< in the program
  } kind = Kind::refused;
  TensorId result = -1;           ///< of the last statement
  std::vector<TensorId> members;  ///< whose statements it computes
  std::string why;
  Measured fused;  ///< as one kernel; no cycles where no tiles that fit take fewer than apart
  SeparateKernels apart;  ///< as the program has them: kernels, chains, attentions

  bool taken() const { return kind == Kind::taken; }
  /// Else there are no kernels that it has to beat, and `why` says why not.
  bool has_apart() const { return apart.kernels > 0; }
  /// Puts the kernel into the program, in the place of its last statement, or says why not.
  /// `replace`: graphs of tiles that its statements have go.
  void put_in(Program& program, const PlanNotes& notes, Graph graph, bool replace) {
    const bool put = attach_plan(program, members, notes, std::move(graph), replace);
    kind = put ? Kind::taken : Kind::refused;
    if (!put) why = "its statements share regions with others or are scheduled";
  }
};

}  // namespace fuseflow::cluster
