#include "sim/memory/dram.h"

#include <algorithm>
#include <cmath>

#include "sim/memory/divisor.h"

namespace fuseflow {

namespace {

/// A time or a distance in cycles, with a fraction in units of 2^-32.
struct FractionalCycles {
  int64_t cycle = 0;
  uint32_t part = 0;
};

/// Cycles between two bursts of a channel.
FractionalCycles burst_interval(const Machine& machine) {
  if (machine.dram.bandwidth_gigabytes_per_second == 0) return {machine.dram.interval_cycles, 0};
  const double cycles = static_cast<double>(machine.dram.channels) *
                        static_cast<double>(machine.dram.burst_bytes) /
                        machine.dram_bytes_per_cycle();
  const double whole = std::floor(cycles);
  const double part = std::min((cycles - whole) * 0x1p32, 0x1p32 - 1);
  return {static_cast<int64_t>(whole), static_cast<uint32_t>(part)};
}

/// Channels that serve one request after another, each after a fixed latency. `Deal` says which
/// channel a request goes to: size_t operator()(const MemoryRequest&), called in their order.
/// `kFractions`: the interval is no whole number of cycles.
template <typename Deal, bool kFractions>
class FixedMemory final : public Memory {
 public:
  explicit FixedMemory(const Machine& machine)
      : latency_(machine.dram.latency_cycles),
        interval_(burst_interval(machine)),
        deal_(machine.dram),
        free_(static_cast<size_t>(machine.dram.channels)) {}

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    MemoryRequest request;
    while (take(horizon, request)) {
      FractionalCycles& free = free_[deal_(request)];
      if (request.time > free.cycle) free = {request.time, 0};
      const int64_t start = free.cycle + (kFractions && free.part > 0 ? 1 : 0);
      answers.push_back({request.port, request.number, start + latency_});
      free.cycle += interval_.cycle;
      if constexpr (kFractions) {
        const uint64_t part = uint64_t{free.part} + interval_.part;
        free.cycle += static_cast<int64_t>(part >> 32);
        free.part = static_cast<uint32_t>(part);
      }
    }
  }

  int64_t least_latency() const override { return latency_; }

 private:
  int64_t latency_;
  FractionalCycles interval_;
  Deal deal_;
  std::vector<FractionalCycles> free_;  // by channel: when it can start the next request
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

/// Deals requests out to channels in turn, as FuseFlow's simulator Comal does: whatever their
/// addresses, the i-th of a cycle goes i channels further than the one before it; those of the next
/// cycle begin after the last one.
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

template <typename Deal>
std::unique_ptr<Memory> make_fixed(const Machine& machine) {
  if (burst_interval(machine).part > 0) {
    return std::make_unique<FixedMemory<Deal, true>>(machine);
  }
  return std::make_unique<FixedMemory<Deal, false>>(machine);
}

}  // namespace

std::unique_ptr<Memory> make_memory(const Machine& machine) {
  if (machine.dram.model == "fixed") return make_fixed<Interleaved>(machine);
  if (machine.dram.model == "comal") return make_fixed<DealtInTurn>(machine);
  if (machine.dram.model == "banked") return make_banked_memory(machine);
  return nullptr;
}

int64_t picoseconds_of_cycle(const Machine& machine) {
  return std::max<int64_t>(1, std::llround(1000.0 / machine.clock_gigahertz));
}

}  // namespace fuseflow
