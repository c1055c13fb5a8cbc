#include "sim/memory/dram.h"

#include <algorithm>
#include <cmath>

#include "sim/memory/divisor.h"

namespace fuseflow {

namespace {

/// Channels that serve one request after another, each after a fixed latency. `Deal` says which
/// channel a request goes to: size_t operator()(const MemoryRequest&), called in their order.
template <typename Deal>
class FixedMemory final : public Memory {
 public:
  explicit FixedMemory(const DramModel& model)
      : model_(model), deal_(model), free_(static_cast<size_t>(model.channels), 0) {}

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    MemoryRequest request;
    while (take(horizon, request)) {
      int64_t& free = free_[deal_(request)];
      const int64_t start = std::max(free, request.time);
      free = start + model_.interval_cycles;
      answers.push_back({request.port, request.number, start + model_.latency_cycles});
    }
  }

  int64_t least_latency() const override { return model_.latency_cycles; }

 private:
  DramModel model_;
  Deal deal_;
  std::vector<int64_t> free_;  // by channel: when it can start the next request
};

/// By address: bytes go round the channels in units of interleave_bytes.
class Interleaved {
 public:
  explicit Interleaved(const DramModel& model)
      : units_(model.interleave_bytes), channels_(model.channels) {}
  size_t operator()(const MemoryRequest& request) const {
    return channels_.remainder(units_.quotient(request.address));
  }

 private:
  Divisor units_;
  Divisor channels_;
};

/// As FuseFlow's simulator Comal deals requests out: whatever their addresses, the i-th of a cycle
/// goes i channels further than the one before it; those of the next cycle begin after the last
/// one.
class DealtInTurn {
 public:
  explicit DealtInTurn(const DramModel& model) : channels_(model.channels) {}
  size_t operator()(const MemoryRequest& request) {
    if (request.time != cycle_) {
      channel_ = (channel_ + dealt_) % channels_;
      dealt_ = 0;
      cycle_ = request.time;
    }
    channel_ = (channel_ + dealt_++) % channels_;
    return static_cast<size_t>(channel_);
  }

 private:
  int64_t channels_;
  int64_t channel_ = 0;  // of the last request
  int64_t cycle_ = -1;   // of the last request
  int64_t dealt_ = 0;    // requests of that cycle
};

}  // namespace

std::unique_ptr<Memory> make_memory(const Machine& machine) {
  if (machine.dram.model == "fixed")
    return std::make_unique<FixedMemory<Interleaved>>(machine.dram);
  if (machine.dram.model == "comal")
    return std::make_unique<FixedMemory<DealtInTurn>>(machine.dram);
  if (machine.dram.model == "banked") return make_banked_memory(machine);
  return nullptr;
}

int64_t picoseconds_of_cycle(const Machine& machine) {
  return std::max<int64_t>(1, std::llround(1000.0 / machine.clock_gigahertz));
}

}  // namespace fuseflow
