#include "sim/memory/dram.h"

#include <algorithm>

#include "sim/memory/banked.h"

namespace fuseflow {

namespace {

/// Channels that serve one burst after another, each after a fixed latency.
class FixedMemory final : public Memory {
 public:
  explicit FixedMemory(const DramModel& model)
      : model_(model), free_(static_cast<size_t>(model.channels), 0) {}

  void submit(const MemoryRequest& request) override { waiting_.push_back(request); }

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    std::sort(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.time, a.port, a.number) < std::tie(b.time, b.port, b.number);
    });
    size_t served = 0;
    for (; served < waiting_.size() && waiting_[served].time < horizon; ++served) {
      const MemoryRequest& request = waiting_[served];
      const auto unit = request.address / static_cast<uint64_t>(model_.interleave_bytes);
      int64_t& free = free_[unit % free_.size()];
      const int64_t start = std::max(free, request.time);
      free = start + model_.interval_cycles;
      ++(request.write ? stats_.writes : stats_.reads);
      answers.push_back({request.port, request.number, start + model_.latency_cycles});
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(served));
  }

  int64_t least_latency() const override { return model_.latency_cycles; }

 private:
  DramModel model_;
  std::vector<int64_t> free_;  // by channel: when it can start the next burst
  std::vector<MemoryRequest> waiting_;
};

}  // namespace

std::unique_ptr<Memory> make_memory(const Machine& machine) {
  if (machine.dram.model == "fixed") return std::make_unique<FixedMemory>(machine.dram);
  if (machine.dram.model == "banked") return make_banked_memory(machine);
  return nullptr;
}

}  // namespace fuseflow
