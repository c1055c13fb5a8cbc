// Times of steps where FIFOs are bounded or memory takes time: a node's known steps, with arrivals
// and credits, as far as the tokens and credits are known, node by node in turn. Exact: the
// equations of ir-spec/timing.md have one least solution, whatever the order in which it is worked
// out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/common/run_result.h"
#include "sim/data/steps.h"
#include "sim/timing/fifo.h"
#include "sim/timing/step_queue.h"
#include "sim/timing/step_solver.h"
#include "support/latest.h"

namespace fuseflow::engine {

/// The timing side of one node, or of one of its sides.
class NodeReplay {
 public:
  std::vector<Fifo*> inputs;          ///< by input; null: immediate, or like another one
  std::vector<OutputTimes*> outputs;  ///< by output; null: not connected, or like another one
  const StepCounting* counting = &kCountWaits;  ///< outlives it

  /// A step after `latest` throws TimeOverflow.
  explicit NodeReplay(int64_t start, int64_t latest = kLatest) : latest_(latest) {
    progress_.free_at = start;
  }
  /// Takes the source's batch.
  void fetch(StepSource& source);
  /// Does as many steps before `horizon` as tokens and credits allow; whether there were any.
  bool advance(StepSolver& solver, int64_t horizon = kNever);
  /// Why no more were done; none: no steps are known.
  StepEnd state() const { return state_; }
  /// Waiting, and what the next step waited for has come.
  bool may_go_on() const {
    return state_ == StepEnd::waits &&
           (blocker_.credit ? blocker_.fifo->room() : blocker_.fifo->held()) >= blocker_count_;
  }
  /// If it may go on: no step is earlier.
  int64_t possible_at() const {
    const int64_t came = blocker_.credit ? blocker_.fifo->credit(blocker_count_ - 1)
                                         : blocker_.fifo->arrival(blocker_count_ - 1);
    return std::max(came, free_at());
  }
  int64_t wake() const { return progress_.next; }        ///< if the state is `beyond`
  bool idle() const { return queue_.empty(); }           ///< no steps are known
  int64_t free_at() const { return progress_.free_at; }  ///< no step can be earlier
  int64_t last_step() const { return progress_.last; }
  /// What the next step waits for, if it does: so many tokens, or as much room, of a FIFO.
  const Fifo* blocker() const { return state_ == StepEnd::waits ? blocker_.fifo : nullptr; }
  bool lacks_credit() const { return blocker_.credit; }  ///< if it waits: room, not a token
  /// The number of the token, or of the take, that comes last of those.
  int64_t lacking() const {
    const Fifo& fifo = *blocker_.fifo;
    return (blocker_.credit ? fifo.source->given - fifo.depth : fifo.taken()) + blocker_count_ - 1;
  }
  /// What the known steps take of the host's memory.
  size_t backlog() const { return queue_.bytes(); }
  /// Overwrites what depends on times.
  void fill(NodeStats& stats) const;

 private:
  void connect(const StepSource& source);
  int64_t most_steps(int64_t horizon) const;

  int64_t latest_;
  bool connected_ = false;
  StepPorts ports_;
  StepQueue queue_;
  int64_t done_last_ = 0;  // steps at once
  StepEnd state_ = StepEnd::none;
  StepBlocker blocker_;        // what the next step waits for, if it does
  int64_t blocker_count_ = 0;  // so many tokens, or as much room
  StepProgress progress_;
};

}  // namespace fuseflow::engine
