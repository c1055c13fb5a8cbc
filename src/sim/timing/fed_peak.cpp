#include "sim/timing/fed_peak.h"

#include <algorithm>

namespace fuseflow::engine {

void FedPeak::take(const TimeLines& takes) {
  while (taken_.position() < takes.end()) {
    Span& span = gives_.front();
    const auto n =
        static_cast<uint32_t>(std::min<int64_t>(span.count, takes.end() - taken_.position()));
    occupancy_.add(span.times, taken_.read(takes, n), n);
    span.times = span.times.from(n);
    span.count -= n;
    if (span.count == 0) gives_.pop_front();
  }
}

}  // namespace fuseflow::engine
