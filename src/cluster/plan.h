// A program planned for the cores of a machine: attentions, chains, rows and kernels, each where it
// is faster. There is one such function; fuseflow-cluster, its evaluation and fuseflow-explore call
// it and listen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/chain/choice.h"
#include "cluster/chain/recognize.h"
#include "cluster/online/online.h"
#include "cluster/remaining.h"

namespace fuseflow::cluster {

enum class PlanStrategy : uint8_t {
  choices,  ///< chains alone, and only what may become of them: the program stays as it is
  none,     ///< every statement a kernel of tiles
  chains,   ///< attentions, chains, rows of several products; the rest stays as it is
  tiles,    ///< ... and the rest kernels, of several statements where that is faster
};

struct PlanOptions {
  PlanStrategy strategy = PlanStrategy::tiles;
  /// How inputs arrive. The planned program declares them as its kernels read them, and what that
  /// costs is counted; restore_given_formats() makes the copies.
  GivenFormats given = {};
  Effort effort = {};  ///< of each search
  int threads = 1;
  bool accept_slower = false;  ///< chains and attentions are taken although they are not faster
};

/// What became of a chain.
struct ChainOutcome : KernelOutcome {
  Chain chain;  ///< as its plan pads it
  /// Its best plans; of rank 0: none fits. Where the program may change, the kernels apart are
  /// those that the program has without it, if there are such.
  Choice choice;
  int64_t leaving_out =
      0;  ///< cycles of kernels without tiles that hold no value; 0: there are none

  bool loses() const {
    return fused.cycles >= choice.apart().cycles ||
           (leaving_out > 0 && fused.cycles >= leaving_out);
  }
};

/// What those who plan want to know, in the order in which it is known; `program` as it is then.
class PlanListener {
 public:
  PlanListener() = default;
  PlanListener(const PlanListener&) = delete;
  PlanListener& operator=(const PlanListener&) = delete;
  virtual ~PlanListener() = default;

  virtual void on(const Program& /*program*/, const std::vector<OnlineOutcome>& /*softmaxes*/) {}
  /// The chains that are planned next, the largest first, and pairs of products that are none.
  virtual void on(const Program& /*program*/, const std::vector<FoundChain>& /*chains*/,
                  const std::vector<RefusedChain>& /*refused*/) {}
  virtual void on(const Program& /*program*/, const FoundChain& /*found*/,
                  const ChainOutcome& /*outcome*/) {}
  virtual void on(const Program& /*program*/, const DroppedChain& /*dropped*/) {}
  virtual void on(const Program& /*program*/, const std::vector<DividedStatement>& /*divided*/) {}
  virtual void on(const Program& /*program*/, const RemainingKernels& /*rest*/) {}
};

/// Regions that have no form of tiles, or are lowered or scheduled, stay as they are. Statements
/// may be divided into several, in new temporaries. Throws Error(rejected) where no tile fits the
/// cores, and Error(internal) where what was planned breaks a rule of programs.
Program plan(Program program, const Machine& machine, const PlanOptions& options,
             PlanListener& listener);

/// The program of a chain by its extents, planned.
struct ChosenProgram {
  Program program;
  Way way = Way::separate;
  int64_t cycles = 0;  ///< of the program, multiplied where its plan was measured `reduced`
};

/// The fastest of the programs of a chain: with the plan that was measured, or its kernels apart,
/// each combined as rows where that is faster. Nothing where none fits the machine. `chain` is not
/// padded. Throws what plan() throws.
std::optional<ChosenProgram> plan_chosen(const Chain& chain, const Choice& choice,
                                         const Machine& machine);

/// With the most work first.
void sort_by_work(std::vector<FoundChain>& chains);

/// Throws Error(internal) where what was planned breaks a rule of programs, which every tool that
/// reads it would report: a plan that does not run is an error of the planner, not of its input.
void require_sound(const Program& planned);

}  // namespace fuseflow::cluster
