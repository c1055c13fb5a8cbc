// Engine: what nodes share that look at their tokens one by one, and do one step at a time. A step
// whose tokens are not all here is not begun: nothing is taken or given before it is certain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/functional/node.h"

namespace fuseflow::engine {

class StepwiseNode : public EngineNode {
 public:
  StepwiseNode(const Context& context, NodeId id) : EngineNode(context, id) {
    sides.back().own_lanes(node_.inputs.size(), 1);
    for (Lane& lane : steps().in) lane.always_listed = true;
  }

 protected:
  bool compute() final {
    if (ended_) return false;
    cursors_.clear();
    for (Port* port : ports) cursors_.emplace_back(*port);
    structure_ = new_structure();
    words_.clear();
    for (step_ = 0; !ended_ && words_.size() < context_.chunk && try_step();) ++step_;
    if (step_ == 0) return false;
    finish();
    return true;
  }
  /// Makes step `step_`. False, with nothing taken or given: a token that it needs is not here.
  virtual bool try_step() = 0;

  /// Whether the `ahead`-th token (0 or 1) of an input from its head on is here; the step needs it,
  /// and those before it.
  bool need(size_t input, uint32_t ahead = 0) {
    if (ahead > 0) {
      PortCursor after = cursors_[input];
      after.advance();
      if (!after.here()) return false;
    } else if (!cursors_[input].here()) {
      return false;
    }
    in_lane(input).needs(step_, ahead);
    return true;
  }
  /// The head, which the step needs.
  void take(size_t input) {
    in_lane(input).at.push_back(step_);
    cursors_[input].here();  // the second of a step may be the first of a segment
    cursors_[input].advance();
  }
  void give_token(uint32_t word) { words_.push_back(word); }
  void give_stop(uint16_t level, uint32_t bits) {
    structure_->stops.push_back({static_cast<uint32_t>(words_.size()), level, bits});
    give_token(0);
  }

  uint32_t step_ = 0;                ///< number of the step being made
  std::vector<PortCursor> cursors_;  ///< by input, at its head
  std::vector<uint32_t> words_;      ///< given in the batch at hand

 private:
  void finish() {
    add_steps(step_);
    structure_->count = static_cast<uint32_t>(words_.size());
    Payload payload;
    if (reads_output(0)) {
      auto out = allocate_payload(words_.size());
      std::copy(words_.begin(), words_.end(), out.get());
      payload = {out, out.get()};
    }
    for (size_t i = 0; i < ports.size(); ++i) {
      in_lane(i).cut(step_);  // needs of a step that was not made
      payload = keeping(payload, *ports[i], static_cast<uint32_t>(in_lane(i).at.size()));
    }
    if (structure_->count > 0) give(0, structure_, payload);
  }

  std::shared_ptr<Structure> structure_;
};

}  // namespace fuseflow::engine
