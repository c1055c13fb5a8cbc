#include "estimate/address_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace fuseflow::estimate {

namespace {

constexpr int64_t kMostPlaces = 64;  // in a burst, that are told apart
constexpr size_t kMostTries = 4096;  // accesses of one burst

/// Counts how often accesses go from one burst to another. Which of them do depends on where in a
/// burst a loop begins: of loops over all coordinates each place is counted, further out the mean.
class BurstChanges {
 public:
  BurstChanges(const AddressLoops& accesses, double burst_bytes)
      : burst_(std::max<int64_t>(1, std::llround(burst_bytes))) {
    int64_t apart = std::gcd(burst_, whole_bytes(accesses.bytes));
    for (const AddressLoop& loop : accesses.loops) {
      apart = std::gcd(apart, whole_bytes(loop.step));
    }
    unit_ = std::max(apart, burst_ / kMostPlaces);
    span_ = std::max(0.0, accesses.bytes - static_cast<double>(unit_));
    for (int64_t begin = 0; begin < burst_; begin += unit_) {
      changes_.push_back(static_cast<double>(burst_of(static_cast<double>(begin) + span_)));
    }
  }

  void add(const AddressLoop& loop) {
    known_ = known_ && loop.whole();
    if (known_) {
      add_whole(loop);
    } else {
      const double mean = std::accumulate(changes_.begin(), changes_.end(), 0.0) /
                          static_cast<double>(changes_.size());
      changes_.assign(1, loop.number * mean + (loop.number - 1) * chance(loop));
    }
    // Of n of E coordinates, from the first one to the last one.
    const double whole =
        loop.whole() ? loop.extent - 1 : (loop.number - 1) * (loop.extent + 1) / (loop.number + 1);
    span_ += std::max(0.0, whole) * loop.step;
  }

  double at_begin() const { return changes_.front(); }

 private:
  static int64_t whole_bytes(double bytes) {
    return static_cast<int64_t>(std::clamp(bytes, 0.0, 0x1p52));
  }
  int64_t burst_of(double address) const {
    return static_cast<int64_t>(std::min(address, 0x1p62)) / burst_;
  }

  void add_whole(const AddressLoop& loop) {
    const std::vector<double> inside = changes_;
    const auto places = static_cast<int64_t>(inside.size());
    const int64_t step = whole_bytes(loop.step);
    // As many elements later a loop is at the same place of a burst again.
    const auto period = static_cast<double>(burst_ / std::gcd(burst_, step));
    const double elements = std::min(loop.number, period);
    for (int64_t place = 0; place < places; ++place) {
      double sum = 0;
      for (int64_t k = 0; k < static_cast<int64_t>(elements); ++k) {
        const int64_t begin = (place * unit_ + k * (step % burst_)) % burst_;
        sum += inside[static_cast<size_t>(std::min(begin / unit_, places - 1))] +
               changes_after(begin, step);
      }
      const int64_t last =
          (place * unit_ + (static_cast<int64_t>(loop.number) - 1) % burst_ * (step % burst_)) %
          burst_;
      changes_[static_cast<size_t>(place)] =
          sum * loop.number / std::max(1.0, std::floor(elements)) - changes_after(last, step);
    }
  }

  /// Whether the element after one that begins there is in another burst than that one's end.
  double changes_after(int64_t begin, int64_t step) const {
    return burst_of(static_cast<double>(begin) + span_) ==
                   burst_of(static_cast<double>(begin + step))
               ? 0
               : 1;
  }

  /// How often the next element is in another burst, wherever in a burst it begins. From one to the
  /// next of coordinates that are listed with a density d it is g with d (1 - d)^(g - 1).
  double chance(const AddressLoop& loop) const {
    const double density = std::min(1.0, loop.number / loop.extent);
    double sum = 0;
    double left = 1;
    for (double apart = 1; left > kUnlikely; ++apart, left *= 1 - density) {
      const double jump = apart * loop.step - span_;
      if (jump >= static_cast<double>(burst_) || apart >= kMostApart) break;
      sum += left * density * std::min(1.0, std::fabs(jump) / static_cast<double>(burst_));
    }
    return sum + left;
  }

  static constexpr double kUnlikely = 1e-3;
  static constexpr double kMostApart = 256;

  const int64_t burst_;
  int64_t unit_ = 1;             ///< bytes: all accesses begin at multiples
  double span_ = 0;              ///< from the first to the last access of the loops so far
  std::vector<double> changes_;  ///< within them, by where in a burst they begin
  bool known_ = true;            ///< that begin is known: all go over all coordinates
};

}  // namespace

void AddressLoops::add(const AddressLoop& loop) {
  if (loop.extent <= 1) return;
  if (loops.empty() && loop.whole() && loop.step == bytes) {
    bytes *= loop.extent;
    return;
  }
  loops.push_back(loop);
}

double AddressLoops::bursts(double burst_bytes) const {
  if (bytes <= 0) return 0;
  if (loops.empty()) return std::max(1.0, bytes / burst_bytes);
  BurstChanges changes(*this, burst_bytes);
  for (const AddressLoop& loop : loops) changes.add(loop);
  return 1 + changes.at_begin();
}

bool AddressLoops::known() const {
  return !loops.empty() && std::all_of(loops.begin(), loops.end(), [](const AddressLoop& loop) {
    return loop.whole() && loop.step > 0;
  });
}

AddressWalk::AddressWalk(const AddressLoops& accesses, double burst_bytes)
    : accesses_(accesses),
      burst_bytes_(std::max<uint64_t>(1, static_cast<uint64_t>(burst_bytes))),
      at_(accesses.loops.size(), 0) {}

uint64_t AddressWalk::next() {
  for (size_t tries = 0;; ++tries) {
    if (first_ > end_) {
      first_ = access_ / burst_bytes_;
      end_ = (access_ + static_cast<uint64_t>(accesses_.bytes) - 1) / burst_bytes_;
      step();
    }
    const uint64_t burst = first_++;
    if (burst == last_ && tries < kMostTries) continue;
    last_ = burst;
    return burst;
  }
}

void AddressWalk::step() {
  for (size_t l = 0; l < at_.size(); ++l) {
    const AddressLoop& loop = accesses_.loops[l];
    const auto step = static_cast<uint64_t>(loop.step);
    if (++at_[l] < static_cast<uint64_t>(loop.extent)) {
      access_ += step;
      return;
    }
    access_ -= (at_[l] - 1) * step;
    at_[l] = 0;
  }
}

}  // namespace fuseflow::estimate
