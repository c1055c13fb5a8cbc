// Steps of a node that ask memory and wait for the answers (ir-spec/memory.md): the node sends some
// addresses together, and does nothing before all of them are answered. So do all loads where
// memory is asked in batches (dram.model = "comal"), and a gallop in every memory. Knows no
// addresses.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/data/steps.h"

namespace fuseflow::engine {

class AskingSteps {
 public:
  /// Adds to `source`, after the lanes that it has, one of requests (an output) and one of answers
  /// (an input) for each port.
  AskingSteps(StepSource& source, size_t ports, int64_t batch)
      : source_(&source),
        batch_(static_cast<uint32_t>(std::min<int64_t>(batch, UINT16_MAX))),
        first_in_(source.now.in.size()),
        first_out_(source.now.out.size()) {
    for (size_t p = 0; p < ports; ++p) {
      source.in_lane.push_back(static_cast<int>(first_in_ + p));
      source.add_in_lane().always_listed = true;
      source.out_lane.push_back(static_cast<int>(first_out_ + p));
      source.now.out.emplace_back().always_listed = true;
    }
  }

  /// Addresses that are sent together, at most.
  uint32_t batch() const { return batch_; }

  /// For a new batch, whose steps that take and give tokens are listed.
  void begin() {
    source_->now.in.front().list();
    source_->now.out.front().list();
  }
  /// Counts steps that the node would do without memory, too; the others only wait for answers.
  void count_own(uint32_t steps) { own_ += steps; }
  int64_t own() const { return own_; }
  /// A step; its number.
  uint32_t step(int64_t cost) {
    source_->now.add(1, cost);
    return source_->now.count - 1;
  }
  /// A step that takes a token of every input.
  void take(int64_t cost) { source_->now.in.front().at.push_back(step(cost)); }
  /// The last step gives so many tokens to every output.
  void give(uint32_t tokens) {
    Places& at = source_->now.out.front().at;
    at.insert(at.end(), tokens, source_->now.count - 1);
  }
  /// Sends so many addresses of a port and waits for their answers, a batch at a time. The step in
  /// which the last answer has come is the last one, and has the cost.
  void ask(size_t port, uint32_t addresses, int64_t cost) {
    ask_together(std::array{std::pair(port, addresses)}, cost);
  }
  /// Sends the addresses of several ports (port, addresses), each a batch in the same step, and
  /// waits for their answers as ask() does.
  template <size_t kPorts>
  void ask_together(std::array<std::pair<size_t, uint32_t>, kPorts> asks, int64_t cost) {
    const auto left = [&] {
      return std::any_of(asks.begin(), asks.end(), [](const auto& ask) { return ask.second > 0; });
    };
    while (left()) {
      const uint32_t asking = step(0);
      std::array<uint32_t, kPorts> sent{};
      for (size_t i = 0; i < kPorts; ++i) {
        sent[i] = std::min(asks[i].second, batch_);
        asks[i].second -= sent[i];
        Places& asked = source_->now.out[first_out_ + asks[i].first].at;
        asked.insert(asked.end(), sent[i], asking);
      }
      const uint32_t answering = step(left() ? 0 : cost);
      for (size_t i = 0; i < kPorts; ++i) {
        Places& answered = source_->now.in[first_in_ + asks[i].first].at;
        answered.insert(answered.end(), sent[i], answering);
      }
    }
  }

 private:
  StepSource* source_;
  uint32_t batch_;
  size_t first_in_;
  size_t first_out_;
  int64_t own_ = 0;
};

/// A load of one address a token: tokens are given together, when the addresses that were collected
/// are answered. A full batch is sent, and what there is before a token without an address.
class BatchedLoad {
 public:
  /// The next token, with an address or without one, in a step of this cost.
  void token(AskingSteps& steps, bool addressed, int64_t cost) {
    asked_ += addressed ? 1 : 0;
    const bool send = asked_ == steps.batch() || (!addressed && asked_ > 0);
    steps.take(send ? 0 : cost);
    ++held_;
    if (addressed && !send) return;
    steps.ask(0, asked_, cost);
    steps.give(held_);
    asked_ = held_ = 0;
  }

 private:
  uint32_t asked_ = 0;  // addresses collected
  uint32_t held_ = 0;   // tokens taken and not given
};

}  // namespace fuseflow::engine
