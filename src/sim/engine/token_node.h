// Engine: what nodes share that do one step a token and keep the structure, all of whose inputs are
// of one space. The kinds are in nodes_token.cpp and, over blocks, in nodes_block.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/engine/along.h"
#include "sim/engine/credit_times.h"
#include "sim/engine/node.h"

namespace fuseflow::engine {

/// All inputs and the output are of one space.
class TokenNode : public EngineNode {
 public:
  using EngineNode::EngineNode;
  bool reads(size_t) const override { return true; }

  bool work() final {
    uint32_t n = std::min(ready(0, ports.size()), most_);
    if (credits != nullptr) n = static_cast<uint32_t>(std::min<int64_t>(n, credits->room()));
    if (n == 0 || ended_) return false;
    batches_.clear();
    arrivals_.clear();
    for (const auto& port : ports) {
      if (port == nullptr) continue;
      batches_.push_back(port->batch(n));
      arrivals_.push_back(batches_.back().arrivals);
      if (batches_.size() > 1) check_like(batches_.front(), batches_.back());
    }
    if (gate.writer() >= 0 && !log.wanted) add_rows(n);
    const Batch& like = batches_.front();
    const auto elements = static_cast<int64_t>(n - like.stops.size());
    const Payload payload = reads_output(0) ? make_payload(batches_, n) : Payload{};
    count(batches_, elements);
    const TimeRef steps = credits == nullptr
                              ? step_times(pace_, arrivals_, n)
                              : credits->steps(pace_, arrivals_, n, {stats_.blocked, stalls});
    count_steps(n, steps);
    if (log.wanted) log_steps(batches_, n);
    if (tail != nullptr) tail->arrive(arrivals_.front(), steps, n);
    take(0, ports.size(), n, steps);
    give_like(0, like, n, payload, steps);
    ended_ = !like.stops.empty() && like.stops.back().done();
    return true;
  }

 protected:
  /// Payloads of n tokens, 0 at stops.
  virtual Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) {
    auto words = allocate_payload(n);
    compute(inputs, words.get(), n);
    for (const Stop& stop : inputs.front().stops) words[inputs.front().at(stop)] = 0;
    return {words, words.get()};
  }
  /// The same; those at stops may be anything.
  virtual void compute(const std::vector<Batch>&, uint32_t*, uint32_t) {}
  /// Flops and bytes of a batch with `elements` payloads.
  virtual void count(const std::vector<Batch>& inputs, int64_t elements) = 0;

  /// The steps of a batch, where FIFOs are bounded.
  virtual void log_steps(const std::vector<Batch>&, uint32_t n) { log_plain(n); }
  /// Whether payload k of a load's references (input 0) is looked up: then it waits for its row.
  virtual bool looks_up(const std::vector<Batch>&, uint32_t) { return true; }
  void log_gated(const std::vector<Batch>& inputs, uint32_t n) {
    const Batch& references = inputs.front();
    const uint32_t* refs = references.payload.words();
    size_t stop = 0;
    for (uint32_t k = 0; k < n; ++k) {
      if (stop < references.stops.size() && references.at(references.stops[stop]) == k) {
        ++stop;
      } else if (looks_up(inputs, k)) {
        if (refs[k] != kAbsent) log.gate(gate.wait_for(refs[k]));
      }
      log_plain(1);
    }
  }
  void log_plain(uint32_t n) {
    log.add(0, n, [this](StepType& type) {
      for (size_t i = 0; i < ports.size(); ++i) {
        if (ports[i] != nullptr) type.need(i, 1, 1);
      }
      type.give(0);
      type.cost = pace_.interval;
    });
  }

  uint32_t most_ = UINT32_MAX;  ///< tokens of a batch

 private:
  /// When the rows of the next n references arrive.
  void add_rows(uint32_t n) {
    gates_.clear();
    const Batch& references = batches_.front();
    const uint32_t* refs = references.payload.words();
    uint32_t k = 0;
    const auto fiber = [&](uint32_t end) {
      for (; k < end; ++k) {
        if (refs[k] == kAbsent || !looks_up(batches_, k)) continue;
        const int64_t arrival = gate.arrival(refs[k]);
        if (arrival > pace_.next()) add_gate(gates_, k, arrival);
      }
      ++k;
    };
    for (const Stop& stop : references.stops) fiber(references.at(stop));
    fiber(n);
    TimeRef rows;
    if (gate_arrivals(gates_, n, pace_.next(), {}, rows)) arrivals_.push_back(std::move(rows));
  }

  std::vector<Batch> batches_;
  std::vector<TimeRef> arrivals_;
  std::vector<Gate> gates_;
};

}  // namespace fuseflow::engine
