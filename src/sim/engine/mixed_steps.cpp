#include "sim/engine/mixed_steps.h"

#include <array>
#include <utility>

namespace fuseflow::engine {

namespace {

using Run = int64_t (*)(MixedLanes&, const uint8_t*, size_t, int64_t, int64_t, MixedProgress&);
constexpr int kIns = 3;      // numbers of lanes with specialisations: 1 .. kIns inputs,
constexpr int kOuts = 3;     // 0 .. kOuts-1 outputs,
constexpr int kCredits = 3;  // 0 .. kCredits-1 credits

template <size_t... kNumber>
constexpr auto all_runs(std::index_sequence<kNumber...>) {
  return std::array<Run, sizeof...(kNumber)>{
      run_mixed<1 + static_cast<int>(kNumber / 2 / kCredits / kOuts),
                static_cast<int>(kNumber / 2 / kCredits % kOuts),
                static_cast<int>(kNumber / 2 % kCredits), kNumber % 2 != 0>...};
}
constexpr auto kRuns = all_runs(std::make_index_sequence<2 * kIns * kOuts * kCredits>());

}  // namespace

int64_t run_mixed_of(MixedLanes& lanes, bool early, const uint8_t* types, size_t type, int64_t n,
                     int64_t horizon, MixedProgress& progress) {
  if (lanes.ins >= 1 && lanes.ins <= kIns && lanes.outs < kOuts && lanes.credits < kCredits) {
    const int number =
        (((lanes.ins - 1) * kOuts + lanes.outs) * kCredits + lanes.credits) * 2 + (early ? 1 : 0);
    return kRuns[static_cast<size_t>(number)](lanes, types, type, n, horizon, progress);
  }
  return run_mixed<-1, -1, -1, false>(lanes, types, type, n, horizon, progress);
}

}  // namespace fuseflow::engine
