#include "estimate/port_sample.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "sim/memory/dram.h"

namespace fuseflow::estimate {

namespace {

constexpr size_t kSample = 4096;  // bursts: two refreshes of all banks and more

class PortSample {
 public:
  PortSample(const Machine& machine, const Port& port, double apart, double near)
      : memory_(make_memory(machine)),
        burst_bytes_(machine.dram.burst_bytes),
        port_(port),
        apart_(apart),
        near_(near),
        walk_(port.order, static_cast<double>(machine.dram.burst_bytes)),
        all_(static_cast<uint64_t>(std::clamp(
            std::ceil(port.array_bytes / static_cast<double>(burst_bytes_)), 1.0, 0x1p62))) {}

  double run(size_t count, size_t under_way) {
    answered_.assign(count, -1);
    double asked = -apart_;
    for (size_t k = 0; k < count; ++k) {
      const int64_t room = k >= under_way ? take(k - under_way) : 0;
      asked = std::max(asked + apart_, static_cast<double>(room));
      now_ = static_cast<int64_t>(std::ceil(asked));
      memory_->submit({.time = now_,
                       .port = 0,
                       .number = static_cast<int64_t>(k),
                       .address = next_burst() * static_cast<uint64_t>(burst_bytes_)});
    }
    return static_cast<double>(take(count - 1));
  }

 private:
  /// When the answer with this number is taken: one a cycle, in their order. No request is made
  /// before it is.
  int64_t take(size_t number) {
    for (; taken_ <= number; ++taken_) {
      while (answered_[taken_] < 0) advance();
      last_ = std::max(last_ + 1, answered_[taken_]);
    }
    return last_;
  }

  /// The memory tells its answers so far ahead of the time up to which it knows all requests.
  void advance() {
    now_ = std::max(now_ + 1, horizon_ + memory_->least_latency());
    horizon_ = now_;
    answers_.clear();
    memory_->advance(horizon_, answers_);
    for (const MemoryAnswer& answer : answers_) {
      answered_[static_cast<size_t>(answer.number)] = answer.time;
    }
  }

  /// In the order of the port, where it is known. Else goes through a set of pieces again and again
  /// for `near_` cycles, then through another one.
  uint64_t next_burst() {
    if (!port_.order.loops.empty()) return walk_.next();
    const auto each = static_cast<uint64_t>(
        std::max(1.0, std::round(port_.near.bytes / static_cast<double>(burst_bytes_))));
    if (at_ == set_.size() && static_cast<double>(passed_) * apart_ >= near_) {
      set_.clear();
      passed_ = 0;
      const double number = std::clamp(std::round(port_.near.number), 1.0, near_ / apart_ + 1);
      for (uint64_t piece = 0; piece < static_cast<uint64_t>(number); ++piece) {
        const uint64_t first = random_() % all_;
        for (uint64_t i = 0; i < each && set_.size() < kSample; ++i) {
          set_.push_back((first + i) % all_);
        }
      }
    }
    if (at_ >= set_.size()) at_ = 0;
    ++passed_;
    return set_[at_++];
  }

  const std::unique_ptr<Memory> memory_;
  const int64_t burst_bytes_;
  const Port& port_;
  const double apart_;
  const double near_;
  AddressWalk walk_;
  const uint64_t all_;             ///< bursts of the array
  std::vector<int64_t> answered_;  ///< by number: when; -1: not yet
  std::vector<MemoryAnswer> answers_;
  size_t taken_ = 0;
  int64_t last_ = 0;     ///< when the last one was taken
  int64_t now_ = 0;      ///< of the last request
  int64_t horizon_ = 0;  ///< up to which the memory knows all requests
  std::minstd_rand random_;
  std::vector<uint64_t> set_;
  size_t at_ = 0;
  uint64_t passed_ = UINT32_MAX;
};

}  // namespace

double sample_port(const Machine& machine, const Port& port, double under_way, double apart,
                   double near) {
  const auto count = static_cast<size_t>(std::min<double>(kSample, std::ceil(port.bursts)));
  if (count == 0) return 0;
  const auto most = static_cast<size_t>(std::max(1.0, std::floor(under_way)));
  const double time = PortSample(machine, port, apart, near).run(count, most);
  return time * port.bursts / static_cast<double>(count);
}

}  // namespace fuseflow::estimate
