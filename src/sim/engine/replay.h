// Times of steps where FIFOs are bounded or memory takes time: every node's logged steps, with
// arrivals and credits, as far as the tokens and credits are known, node by node in turn. Exact:
// the equations of ir-spec/timing.md have one least solution, whatever the order in which it is
// worked out.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/fifo.h"
#include "sim/engine/mixed_steps.h"
#include "sim/engine/steps.h"
#include "sim/engine/type_counts.h"
#include "sim/run.h"

namespace fuseflow::engine {

/// The timing side of one node.
class NodeReplay {
 public:
  enum class State : uint8_t {
    idle,   ///< no steps are known
    waits,  ///< for a token or a credit
    beyond  ///< the next step is at the horizon or later: at wake()
  };

  std::vector<Fifo*> inputs;     ///< by input; null: immediate, or like another one
  std::vector<Gives*> outputs;   ///< by output; null: not connected, or like another one
  Activity* activity = nullptr;  ///< where to note busy cycles, if anywhere
  Activity* stalls = nullptr;    ///< the same for blocked ones

  explicit NodeReplay(int64_t start) : free_at_(start) {}
  void fetch(StepLog& log);
  /// Does as many steps before `horizon` as tokens and credits allow; whether there were any.
  bool advance(int64_t horizon = INT64_MAX);
  State state() const { return state_; }
  /// Waiting, and what the next step waited for has come.
  bool may_go_on() const {
    return state_ == State::waits &&
           (blocker_credit_ ? blocker_->room() : blocker_->held()) >= blocker_count_;
  }
  /// If it may go on: no step is earlier.
  int64_t possible_at() const {
    const int64_t came = blocker_credit_ ? blocker_->credit(blocker_count_ - 1)
                                         : blocker_->arrival(blocker_count_ - 1);
    return came > free_at_ ? came : free_at_;
  }
  int64_t wake() const { return wake_; }              ///< if the state is `beyond`
  bool idle() const { return run_ == runs_.size(); }  ///< no steps are known
  int64_t free_at() const { return free_at_; }        ///< no step can be earlier
  /// No token can be given earlier.
  int64_t gives_at() { return gives_from(free_at_); }
  /// No token can be given earlier, if no step is before `time`.
  int64_t gives_from(int64_t time) {
    if (has_quiet_ && quiet_ahead_ == 0) find_next_give();
    return time + (has_quiet_ ? quiet_ahead_ * quiet_cost_ : 0);
  }
  /// What the next step waits for, if it does: so many tokens, or as much room, of a FIFO.
  const Fifo* blocker() const { return state_ == State::waits ? blocker_ : nullptr; }
  int64_t blocker_count() const { return blocker_count_; }
  bool lacks_credit() const { return blocker_credit_; }
  /// What the known steps take of the host's memory.
  size_t backlog() const {
    return (runs_.size() - run_) * sizeof(StepRun) + mixed_.size() - next_mixed_;
  }
  // What the known steps will do, whenever that is (replay_ahead.cpp); all of it is looked through.
  /// So many steps at least, or `most`, are before the one that gives the `count`-th next token to
  /// an output.
  int64_t steps_before_give(const Gives* output, int64_t count, int64_t most) const;
  /// The same of the next one that requests a burst.
  int64_t steps_before_request(int64_t most) const;
  int64_t type_of(int64_t n) const;  ///< of the n-th next step; below 0: not known
  /// The token of an input (a place in connected_inputs()) that the n-th next step, of that type,
  /// waits for; below 0: none.
  int64_t token_for(size_t in, int64_t n, uint32_t type) const;
  const std::vector<Fifo*>& connected_inputs() const { return ins_; }
  int64_t least_cost() const { return least_cost_; }  ///< of any known type
  int64_t last_step() const { return last_; }
  /// Overwrites what depends on times.
  void fill(NodeStats& stats) const;

 private:
  /// A type, as these inputs and outputs see it.
  struct Plan {
    std::vector<StepType::Need> needs;  // ports are places in ins_
    std::vector<StepType::Give> gives;  // outputs are places in outs_
    int64_t cost = 1;
    bool plain = false;  ///< fits mixed_steps.h
    bool quiet = false;  ///< gives nothing
  };
  /// A consumer whose room an output (a place in outs_) has to wait for.
  struct Credit {
    size_t out;
    Fifo* fifo;
  };
  using End = MixedProgress::End;

  int64_t steps_before(const TypeCounts& counts, int64_t& count, int64_t most) const;
  void drop_done();
  void connect();
  void make_plan(const StepType& type);
  void add_mixed(size_t type, const std::vector<MixedIn::Need>& needs,
                 const std::vector<int32_t>& gives);
  void open(int64_t most, MixedLanes& lanes);
  void close();
  int64_t most_steps() const;
  const uint8_t* next_types(int64_t& n, uint8_t* room) const;
  void drop(int64_t done);
  End plain_steps(int64_t horizon, int64_t& done);
  End step(const Plan& plan, int64_t horizon);
  void find_blocker();
  void find_next_give();
  End do_steps(int64_t horizon);
  void count(int64_t n, int64_t busy) {
    steps_ += n;
    busy_ += busy;
  }

  bool connected_ = false;
  bool has_quiet_ = false;    // some steps give nothing
  int64_t quiet_ahead_ = 0;   // of the next steps so many give nothing, or more
  int64_t quiet_cost_ = 0;    // of such a step, at least
  std::vector<Fifo*> ins_;    // those in use
  std::vector<Gives*> outs_;  // the same
  std::vector<Credit> credits_;
  std::vector<size_t> in_of_;       // by port: place in ins_, or SIZE_MAX
  std::vector<size_t> out_of_;      // the same of outputs
  std::vector<Plan> plans_;         // by type
  std::vector<TypeCounts> needed_;  // by place in ins_
  std::vector<TypeCounts> taken_;   // the same
  std::vector<TypeCounts> given_;   // by place in outs_
  TypeCounts requested_;
  int64_t least_cost_ = INT64_MAX;
  std::vector<MixedIn> in_types_;    // by place in ins_
  std::vector<MixedOut> out_types_;  // by place in outs_
  kernels::TypeSet special_;         // types that are not plain
  bool has_special_ = false;
  std::vector<int32_t> mixed_costs_;  // by plain type
  static constexpr int32_t kNone = -2;
  static constexpr int32_t kDiffers = -1;
  int32_t mixed_cost_ = kNone;  // of all plain types
  std::vector<StepRun> runs_;
  size_t run_ = 0;
  TypeBytes mixed_;
  size_t next_mixed_ = 0;
  int64_t done_last_ = 0;  // plain steps at once
  State state_ = State::idle;
  int64_t wake_ = 0;
  const Fifo* blocker_ =
      nullptr;  // what a step waits for: so many tokens, or as much room, of this
  int64_t blocker_count_ = 0;
  bool blocker_credit_ = false;
  int64_t free_at_;
  int64_t first_ = -1;
  int64_t last_ = -1;
  int64_t busy_ = 0;
  int64_t blocked_ = 0;
  int64_t steps_ = 0;
};

}  // namespace fuseflow::engine
