// Banked, multi-channel DRAM: rows, bank groups, turn-around, refresh.
#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "sim/data/ends_of_time.h"
#include "sim/memory/divisor.h"
#include "sim/memory/dram.h"
#include "support/ceil_div.h"
#include "support/latest.h"
#include "support/stop.h"

namespace fuseflow {

namespace {

/// Where a burst is.
struct Place {
  uint32_t bank = 0;  ///< over all groups: group * banks_per_group + bank
  uint32_t group = 0;
  uint64_t row = 0;
};

struct PendingRequest {
  MemoryRequest request;
  int64_t arrival = 0;  ///< picoseconds
  Place place;
  int bypassed = 0;  ///< younger requests served before it
};

/// One channel; all its times are picoseconds.
class Channel {
 public:
  Channel(const DramModel& model, MemoryStats& stats) : m_(model), t_(model.timing), stats_(stats) {
    banks_.resize(static_cast<size_t>(model.bank_groups * model.banks_per_group));
    group_column_.assign(static_cast<size_t>(model.bank_groups), kLongAgo);
    activations_.fill(kLongAgo);
    next_refresh_ = refresh_interval();
  }

  void add(const PendingRequest& waiting) { queue_.push_back(waiting); }

  /// Serves every request whose column command comes before `limit`. Calls done(request, time at
  /// which its data has been on the bus).
  template <typename Done>
  void advance(int64_t limit, Done&& done) {
    while (!queue_.empty()) {
      refresh_before(queue_.front().arrival);
      const Choice choice = choose();
      if (choice.column >= limit) return;
      if (choice.column >= next_refresh_) {
        stop_.step();
        refresh();
        continue;
      }
      serve(choice, done);
    }
  }

 private:
  struct Bank {
    bool open = false;
    uint64_t row = 0;
    int64_t column_ready = kLongAgo;     ///< earliest column command to the open row
    int64_t precharge_ready = kLongAgo;  ///< earliest precharge
    int64_t activate_ready = kLongAgo;   ///< earliest activation of the closed bank
    uint64_t refreshed = 0;              ///< rounds
  };
  struct Choice {
    size_t index = 0;
    bool hit = false;
    int64_t activate = kLongAgo;
    int64_t column = 0;
  };

  int64_t refresh_interval() const {
    return t_.refresh_interval_ps / static_cast<int64_t>(banks_.size());
  }

  size_t window() const { return static_cast<size_t>(m_.queue_depth); }

  void refresh_before(int64_t time) {
    while (next_refresh_ <= time) {
      stop_.step();
      if (time - next_refresh_ >= round_length() && all_closed_at_start_of_round()) {
        skip_rounds((time - next_refresh_) / round_length());
      } else {
        refresh();
      }
    }
  }

  int64_t round_length() const { return refresh_interval() * static_cast<int64_t>(banks_.size()); }

  bool all_closed_at_start_of_round() const {
    return std::all_of(banks_.begin(), banks_.end(),
                       [&](const Bank& b) { return !b.open && b.refreshed <= round_; });
  }

  /// What so many rounds of refresh() do while all banks are closed and no request waits: bank b
  /// has its turn in place b. A refresh starts at its turn or where the one before it ends, and is
  /// no longer than a round (check_machine), so that only the first start and the last turn count.
  void skip_rounds(int64_t rounds) {
    for (size_t b = 0; b < banks_.size(); ++b) {
      const int64_t last_turn = next_refresh_ + static_cast<int64_t>(b) * refresh_interval() +
                                (rounds - 1) * round_length();
      int64_t& ready = banks_[b].activate_ready;
      const int64_t one_after_another = ready + (rounds - 1) * t_.refresh_ps;
      ready = std::max(last_turn, one_after_another) + t_.refresh_ps;
      banks_[b].refreshed = round_ + static_cast<uint64_t>(rounds);
    }
    next_refresh_ += rounds * round_length();
    round_ += static_cast<uint64_t>(rounds);
  }

  /// Refreshes one bank: the first that has not had its turn in this round and that no request
  /// waits for, else the first that has not had its turn.
  void refresh() {
    size_t chosen = banks_.size();
    for (size_t pass = 0; pass < 2 && chosen == banks_.size(); ++pass) {
      for (size_t b = 0; b < banks_.size() && chosen == banks_.size(); ++b) {
        if (banks_[b].refreshed <= round_ && (pass == 1 || !wanted(b))) chosen = b;
      }
    }
    Bank& bank = banks_[chosen];
    const int64_t closed = bank.open
                               ? std::max(next_refresh_, bank.precharge_ready) + t_.precharge_ps
                               : std::max(next_refresh_, bank.activate_ready);
    bank.open = false;
    bank.activate_ready = closed + t_.refresh_ps;
    bank.refreshed = round_ + 1;
    next_refresh_ += refresh_interval();
    const bool all = std::all_of(banks_.begin(), banks_.end(),
                                 [&](const Bank& b) { return b.refreshed > round_; });
    if (all) ++round_;
  }

  /// By one of the requests among which the channel chooses: it knows no others.
  bool wanted(size_t bank) const {
    const auto known = static_cast<std::ptrdiff_t>(std::min(queue_.size(), window()));
    return std::any_of(queue_.begin(), queue_.begin() + known, [&](const PendingRequest& w) {
      return w.place.bank == bank && w.arrival <= next_refresh_;
    });
  }

  Choice plan(size_t index) const {
    const PendingRequest& w = queue_[index];
    const Bank& bank = banks_[w.place.bank];
    Choice choice{index, bank.open && bank.row == w.place.row, kLongAgo, 0};
    int64_t ready = std::max(w.arrival, bank.column_ready);
    if (!choice.hit) {
      int64_t start = std::max(w.arrival, bank.activate_ready);
      if (bank.open) start = std::max(w.arrival, bank.precharge_ready) + t_.precharge_ps;
      choice.activate = std::max({start, last_activation_ + t_.activate_to_activate_ps,
                                  activations_[0] + t_.four_activations_ps});
      ready = choice.activate + t_.row_to_column_ps;
    }
    choice.column = std::max({ready, last_column_ + t_.burst_ps,
                              group_column_[w.place.group] + t_.same_group_ps,
                              w.request.write ? write_ready_ : read_ready_});
    return choice;
  }

  /// The waiting request whose column command can be the earliest; of equal ones the oldest. Where
  /// the oldest was passed over too often, only of those that do not hold it up.
  Choice choose() const {
    const Choice oldest = plan(0);
    const bool late = queue_[0].bypassed >= m_.most_bypassed;
    Choice best = oldest;
    const int64_t least = last_column_ + t_.burst_ps;  // whichever it is
    for (size_t i = 1; i < std::min(queue_.size(), window()); ++i) {
      if (best.column <= least || queue_[i].arrival > best.column) break;
      const Choice other = plan(i);
      if (other.column < best.column && !(late && holds_up(other, oldest))) best = other;
    }
    return best;
  }

  /// Whether `oldest` could come later if `other` were served before it.
  bool holds_up(const Choice& other, const Choice& oldest) const {
    const PendingRequest& before = queue_[other.index];
    const PendingRequest& after = queue_[oldest.index];
    if (before.place.bank == after.place.bank) return true;
    if (!other.hit && !oldest.hit &&
        (other.activate + t_.activate_to_activate_ps > oldest.activate ||
         activations_[1] + t_.four_activations_ps > oldest.activate)) {
      return true;
    }
    const bool same_group = before.place.group == after.place.group;
    const int64_t apart = same_group ? std::max(t_.burst_ps, t_.same_group_ps) : t_.burst_ps;
    if (other.column + apart > oldest.column) return true;
    const bool write = before.request.write;
    if (write == after.request.write) return false;
    const int64_t end = data_end(other, write);
    return (write ? end + t_.write_to_read_ps : end - t_.write_latency_ps) > oldest.column;
  }

  /// When the data of a request that is served so has been on the bus.
  int64_t data_end(const Choice& choice, bool write) const {
    return choice.column + (write ? t_.write_latency_ps : t_.read_latency_ps) + t_.burst_ps;
  }

  template <typename Done>
  void serve(const Choice& choice, Done& done) {
    const PendingRequest w = queue_[choice.index];
    for (size_t i = 0; i < choice.index; ++i) ++queue_[i].bypassed;
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(choice.index));
    Bank& bank = banks_[w.place.bank];
    if (choice.hit) {
      ++stats_.row_hits;
    } else {
      ++stats_.row_misses;
      bank.open = true;
      bank.row = w.place.row;
      bank.precharge_ready = choice.activate + t_.row_active_ps;
      last_activation_ = std::max(last_activation_, choice.activate);
      std::rotate(activations_.begin(), activations_.begin() + 1, activations_.end());
      activations_.back() = choice.activate;
    }
    const bool write = w.request.write;
    const int64_t end = data_end(choice, write);
    bank.column_ready = choice.column;
    bank.precharge_ready =
        std::max(bank.precharge_ready,
                 write ? end + t_.write_recovery_ps : choice.column + t_.read_to_precharge_ps);
    last_column_ = choice.column;
    group_column_[w.place.group] = choice.column;
    if (write) {
      read_ready_ = end + t_.write_to_read_ps;
    } else {
      write_ready_ = end - t_.write_latency_ps;  // its data follows on the bus
    }
    done(w.request, end);
  }

  const DramModel& m_;
  const DramModel::Timing& t_;
  MemoryStats& stats_;
  std::deque<PendingRequest> queue_;  // by arrival
  std::vector<Bank> banks_;
  std::vector<int64_t> group_column_;     // the last column command of each bank group
  std::array<int64_t, 4> activations_{};  // the last four, oldest first
  int64_t last_activation_ = kLongAgo;
  int64_t last_column_ = kLongAgo;
  int64_t read_ready_ = kLongAgo;
  int64_t write_ready_ = kLongAgo;
  int64_t next_refresh_ = 0;
  uint64_t round_ = 0;
  PeriodicStopCheck stop_;
};

class BankedMemory final : public Memory {
 public:
  explicit BankedMemory(const Machine& machine)
      : model_(machine.dram),
        picoseconds_(picoseconds_of_cycle(machine)),
        units_(model_.interleave_bytes),
        channel_count_(model_.channels),
        bursts_(model_.burst_bytes),
        groups_(model_.bank_groups),
        columns_(model_.row_bytes / model_.burst_bytes),
        banks_(model_.banks_per_group),
        bursts_of_unit_(static_cast<uint64_t>(model_.interleave_bytes / model_.burst_bytes)) {
    channels_.reserve(static_cast<size_t>(model_.channels));
    for (int64_t c = 0; c < model_.channels; ++c) channels_.emplace_back(model_, stats_);
  }

  void advance(int64_t horizon, std::vector<MemoryAnswer>& answers) override {
    MemoryRequest request;
    while (take(horizon, request)) route(request);
    const int64_t limit = to_picoseconds(horizon + model_.latency_cycles);
    for (Channel& channel : channels_) {
      channel.advance(limit, [&](const MemoryRequest& served, int64_t end) {
        answers.push_back({served.port, served.number, to_cycles(end)});
      });
    }
  }

  int64_t latest() const override { return kLatest / picoseconds_; }

  int64_t least_latency() const override {
    const auto& t = model_.timing;
    const int64_t least = std::min(t.read_latency_ps, t.write_latency_ps) + t.burst_ps;
    return model_.latency_cycles + least / picoseconds_;
  }

 private:
  int64_t to_picoseconds(int64_t cycles) const { return cycles * picoseconds_; }
  int64_t to_cycles(int64_t picoseconds) const { return ceil_div(picoseconds, picoseconds_); }

  /// Bytes go round the channels in units of interleave_bytes; inside a channel consecutive bursts
  /// go round the bank groups, then along the row, then to the next bank, then to the next row.
  void route(const MemoryRequest& request) {
    const uint64_t unit = units_.quotient(request.address);
    const uint64_t inside = units_.remainder(request.address);
    const uint64_t n = channel_count_.quotient(unit) * bursts_of_unit_ + bursts_.quotient(inside);
    const uint64_t along = columns_.quotient(groups_.quotient(n));
    PendingRequest waiting{request, to_picoseconds(request.time + model_.latency_cycles), {}, 0};
    waiting.place.group = static_cast<uint32_t>(groups_.remainder(n));
    waiting.place.bank =
        static_cast<uint32_t>(waiting.place.group * static_cast<uint64_t>(model_.banks_per_group) +
                              banks_.remainder(along));
    waiting.place.row = banks_.quotient(along);
    channels_[channel_count_.remainder(unit)].add(waiting);
  }

  DramModel model_;
  int64_t picoseconds_;  // in a cycle
  Divisor units_;
  Divisor channel_count_;
  Divisor bursts_;
  Divisor groups_;
  Divisor columns_;
  Divisor banks_;
  uint64_t bursts_of_unit_;
  std::vector<Channel> channels_;
};

}  // namespace

std::unique_ptr<Memory> make_banked_memory(const Machine& machine) {
  return std::make_unique<BankedMemory>(machine);
}

}  // namespace fuseflow
