#include "sim/memory/dram.h"

#include <algorithm>

#include "sim/memory/banked.h"
#include "sim/memory/divisor.h"

namespace fuseflow {

namespace {

/// Channels that serve one burst after another, each after a fixed latency.
class FixedMemory final : public Memory {
 public:
  explicit FixedMemory(const DramModel& model)
      : model_(model),
        units_(model.interleave_bytes),
        channels_(model.channels),
        free_(static_cast<size_t>(model.channels), 0) {}

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    MemoryRequest request;
    while (take(horizon, request)) {
      int64_t& free = free_[channels_.remainder(units_.quotient(request.address))];
      const int64_t start = std::max(free, request.time);
      free = start + model_.interval_cycles;
      answers.push_back({request.port, request.number, start + model_.latency_cycles});
    }
  }

  int64_t least_latency() const override { return model_.latency_cycles; }

 private:
  DramModel model_;
  Divisor units_;
  Divisor channels_;
  std::vector<int64_t> free_;  // by channel: when it can start the next burst
};

/// As FuseFlow's simulator Comal deals requests out: whatever their addresses, the i-th of a cycle
/// goes i channels further than the one before it; those of the next cycle begin after the last
/// one.
class DealtMemory final : public Memory {
 public:
  explicit DealtMemory(const DramModel& model)
      : model_(model), free_(static_cast<size_t>(model.channels), 0) {}

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    MemoryRequest request;
    while (take(horizon, request)) {
      if (request.time != cycle_) next_cycle(request.time);
      channel_ = (channel_ + dealt_++) % model_.channels;
      int64_t& free = free_[static_cast<size_t>(channel_)];
      const int64_t start = std::max(free, request.time);
      free = start + model_.interval_cycles;
      answers.push_back({request.port, request.number, start + model_.latency_cycles});
    }
  }

  int64_t least_latency() const override { return model_.latency_cycles; }

 private:
  void next_cycle(int64_t time) {
    channel_ = (channel_ + dealt_) % model_.channels;
    dealt_ = 0;
    cycle_ = time;
  }

  DramModel model_;
  std::vector<int64_t> free_;  // by channel: when it can start the next request
  int64_t channel_ = 0;        // of the last request
  int64_t cycle_ = -1;         // of the last request
  int64_t dealt_ = 0;          // requests of that cycle
};

}  // namespace

std::unique_ptr<Memory> make_memory(const Machine& machine) {
  if (machine.dram.model == "fixed") return std::make_unique<FixedMemory>(machine.dram);
  if (machine.dram.model == "comal") return std::make_unique<DealtMemory>(machine.dram);
  if (machine.dram.model == "banked") return make_banked_memory(machine);
  return nullptr;
}

}  // namespace fuseflow
