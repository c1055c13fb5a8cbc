#include "estimate/port_sample.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace fuseflow::estimate {

namespace {

constexpr size_t kSample = 4096;  // bursts: two refreshes of all banks and more

class PortSample {
 public:
  PortSample(const DramModel& dram, double cycles_per_ps, const Port& port, double apart,
             double near)
      : m_(dram),
        cycles_per_ps_(cycles_per_ps),
        port_(port),
        apart_(apart),
        near_(near),
        all_(static_cast<uint64_t>(std::clamp(
            std::ceil(port.array_bytes / static_cast<double>(m_.burst_bytes)), 1.0, 0x1p62))),
        banks_(static_cast<size_t>(m_.channels * banks_of_channel())) {}

  double run(size_t count, size_t under_way) {
    std::vector<double> taken(count);
    double asked = -apart_;
    double last = 0;
    for (size_t k = 0; k < count; ++k) {
      asked = std::max(asked + apart_, k >= under_way ? taken[k - under_way] : 0.0);
      last = std::max(last + 1, answer(next_burst(), asked));
      taken[k] = last;
    }
    return last;
  }

 private:
  struct Bank {
    bool open = false;
    uint64_t row = 0;
    double opened = 0;      ///< when
    double ready = 0;       ///< for the next command
    double refreshed = -1;  ///< when its last refresh began
  };

  int64_t banks_of_channel() const { return m_.bank_groups * m_.banks_per_group; }
  double cycles(int64_t picoseconds) const {
    return static_cast<double>(picoseconds) * cycles_per_ps_;
  }

  /// Goes through a set of pieces again and again for `near_` cycles, then through another one.
  uint64_t next_burst() {
    const auto each = static_cast<uint64_t>(
        std::max(1.0, std::round(port_.near.bytes / static_cast<double>(m_.burst_bytes))));
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

  /// When the answer comes to a request for a burst of the array.
  double answer(uint64_t burst, double asked) {
    const auto together = static_cast<uint64_t>(m_.interleave_bytes / m_.burst_bytes);
    const auto channels = static_cast<uint64_t>(m_.channels);
    const auto groups = static_cast<uint64_t>(m_.bank_groups);
    const uint64_t unit = burst / together;
    const uint64_t n = unit / channels * together + burst % together;
    const uint64_t along = n / groups / static_cast<uint64_t>(m_.row_bytes / m_.burst_bytes);
    const auto rows = static_cast<uint64_t>(m_.banks_per_group);
    const uint64_t number = n % groups * rows + along % rows;
    const double arrival = asked + static_cast<double>(m_.latency_cycles);
    Bank& bank = banks_[unit % channels * static_cast<uint64_t>(banks_of_channel()) + number];
    refresh(bank, static_cast<double>(number), arrival);
    const DramModel::Timing& t = m_.timing;
    double command = std::max(arrival, bank.ready);
    if (!bank.open || bank.row != along / rows) {
      if (bank.open) {
        command = std::max({arrival, bank.opened + cycles(t.row_active_ps),
                            bank.ready + cycles(t.read_to_precharge_ps)}) +
                  cycles(t.precharge_ps);
      }
      bank.open = true;
      bank.row = along / rows;
      bank.opened = command;
      command += cycles(t.row_to_column_ps);
    }
    bank.ready = command;
    return command + cycles(t.read_latency_ps + t.burst_ps);
  }

  /// The banks of a channel are refreshed in turn, in equal distances.
  void refresh(Bank& bank, double number, double now) const {
    const auto banks = static_cast<double>(banks_of_channel());
    const double interval = cycles(m_.timing.refresh_interval_ps);
    const double first = interval / banks * (number + 1);
    if (now < first) return;
    const double begun = first + std::floor((now - first) / interval) * interval;
    if (begun <= bank.refreshed) return;
    bank.refreshed = begun;
    bank.open = false;
    bank.ready = begun + cycles(m_.timing.precharge_ps + m_.timing.refresh_ps);
  }

  const DramModel& m_;
  const double cycles_per_ps_;
  const Port& port_;
  const double apart_;
  const double near_;
  const uint64_t all_;  ///< bursts of the array
  std::vector<Bank> banks_;
  std::minstd_rand random_;
  std::vector<uint64_t> set_;
  size_t at_ = 0;
  uint64_t passed_ = UINT32_MAX;
};

}  // namespace

double sample_port(const DramModel& dram, double cycles_per_ps, const Port& port, double under_way,
                   double apart, double near) {
  const auto count = static_cast<size_t>(std::min<double>(kSample, std::ceil(port.bursts)));
  if (count == 0) return 0;
  const auto most = static_cast<size_t>(std::max(1.0, std::floor(under_way)));
  const double time = PortSample(dram, cycles_per_ps, port, apart, near).run(count, most);
  return time * port.bursts / static_cast<double>(count);
}

}  // namespace fuseflow::estimate
