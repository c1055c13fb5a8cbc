#include "cuda/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cuda/coordinates.h"
#include "cuda/refuse.h"
#include "support/error.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30;
constexpr int64_t kFlag = 16;  ///< bytes before the barriers

chip::SumsSize size_of(const SumsForm& sums) {
  return {sums.rows, sums.columns};
}

/// Whether sums are alive while others are made: those of a chain's result that are summed over
/// steps of N.
bool accumulates_over_others(const std::vector<Step>& steps) {
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].what == StepKind::clear && steps[i + 1].what == StepKind::loop &&
        steps[i + 1].variable == "n")
      return true;
  }
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return accumulates_over_others(step.body); });
}

void choose_groups(Kernel& kernel, const chip::Chip& chip) {
  const chip::Needs needs = needs_of(kernel);
  const auto groups = chip::groups_for(needs.sums, needs.together, chip);
  if (!groups) throw Refused{chip::why_not(needs, chip)};
  kernel.groups = groups->groups;
  kernel.registers = groups->registers;
}

/// The sums that a load is multiplied into, and on which side.
struct Use {
  int sums = -1;
  bool right = false;
};
void find_use(const std::vector<Step>& steps, int load, Use& use) {
  for (const Step& step : steps) {
    if (step.what == StepKind::multiply) {
      for (const bool right : {false, true}) {
        const FactorOf& factor = right ? step.right : step.left;
        if (factor.kind == FactorOf::Kind::load && factor.number == load) use = {step.a, right};
      }
    }
    find_use(step.body, load, use);
  }
}

void choose_panels(Kernel& kernel) {
  for (size_t i = 0; i < kernel.loads.size(); ++i) {
    Load& load = kernel.loads[i];
    if (!load.view) {
      load.matrix.panel = 8;
      load.peers = {};  // each core gathers for itself
      kernel.repairs.push_back(
          fmt::format("{}: {}; the producer's threads gather it", load.name, load.why_gathered));
      continue;
    }
    Use use;
    find_use(kernel.multiply, static_cast<int>(i), use);
    int64_t whole = load.matrix.inner();
    if (use.right && load.matrix.by_rows)
      whole =
          std::gcd(whole, chip::columns_of_group(
                              size_of(kernel.sums[static_cast<size_t>(use.sums)]), kernel.groups));
    load.matrix.panel = whole % 64 == 0 ? 64 : whole % 32 == 0 ? 32 : 16;
    if (load.matrix.panel < 64) {
      kernel.choices.push_back(
          fmt::format("{}: panels of {} elements, since {} are no multiple of 64", load.name,
                      load.matrix.panel, whole));
    }
  }
}

/// Bytes that a core needs; sets where everything is.
int64_t lay_out(Kernel& kernel) {
  int64_t at = 0;
  const auto take = [&](int64_t bytes) {
    const int64_t here = at;
    at = rounded_up(at + bytes, chip::kAlignment);
    return here;
  };
  kernel.load_at.clear();
  kernel.held_at.clear();
  kernel.staged_at.clear();
  kernel.slots_at.clear();
  kernel.round_at.clear();
  for (const Load& load : kernel.loads)
    kernel.load_at.push_back(take(load.stages * load.matrix.bytes()));
  for (const ScratchpadMatrix& held : kernel.held)
    kernel.held_at.push_back(take(held.tiles * held.matrix.bytes()));
  kernel.room_at.clear();
  for (const SharedBuffer& room : kernel.rooms) kernel.room_at.push_back(take(room.bytes));
  for (const Scatter& s : kernel.scatters) {
    kernel.staged_at.push_back(take(s.rows * s.columns * chip::kSumBytes));
    kernel.slots_at.push_back(
        take((s.peers.count - 1) * chip::scatter_slot({s.rows, s.columns}, s.peers.count)));
  }
  for (const RingPass& round : kernel.rounds) {
    kernel.round_at.push_back(
        take(round.slots * kernel.held[static_cast<size_t>(round.held)].matrix.bytes()));
  }
  if (kernel.finish.adders > 1) kernel.add_at = take(kernel.finish.tile_elements * chip::kSumBytes);
  kernel.barriers_at = at + kFlag;
  return kernel.barriers_at + int64_t{kernel.barriers} * 8;
}

void number_barriers(Kernel& kernel) {
  int next = 0;
  const auto take = [&](int64_t count) {
    const int here = next;
    next += static_cast<int>(count);
    return here;
  };
  kernel.load_barrier.clear();
  kernel.scatter_barrier.clear();
  kernel.spread_barrier.clear();
  kernel.round_barrier.clear();
  for (const Load& load : kernel.loads) kernel.load_barrier.push_back(take(2 * load.stages));
  for (size_t i = 0; i < kernel.scatters.size(); ++i) kernel.scatter_barrier.push_back(take(2));
  for (size_t i = 0; i < kernel.spreads.size(); ++i) kernel.spread_barrier.push_back(take(1));
  for (const RingPass& round : kernel.rounds)
    kernel.round_barrier.push_back(take(round.slots + round.peers.count));
  kernel.barriers = next;
}

void fit_scratchpad(Kernel& kernel, const chip::Chip& chip) {
  chip::Needs needs = needs_of(kernel);
  const std::string why = chip::fit_copies(needs, chip);
  if (!why.empty()) throw Refused{why};
  for (size_t i = 0; i < kernel.loads.size(); ++i) {
    Load& load = kernel.loads[i];
    const int64_t copies = needs.rings[i].copies;
    if (copies < load.stages) {
      kernel.repairs.push_back(
          fmt::format("{}: {} copies for {}, the scratchpad has no room for more", load.name,
                      copies, load.stages));
    }
    load.stages = copies;
  }
  number_barriers(kernel);
  kernel.scratchpad = lay_out(kernel);
  if (kernel.scratchpad != chip::scratchpad_of(needs)) {
    throw Error(ExitCode::internal, fmt::format("a kernel has {} bytes of a scratchpad, not {}",
                                                kernel.scratchpad, chip::scratchpad_of(needs)));
  }
}

/// Coordinates are 31-bit numbers in the text.
void check_sizes(const Kernel& kernel) {
  for (const GraphIndex& index : kernel.graph->indices) {
    if (index.extent > kMostElements / std::max<int64_t>(index.block, 1)) {
      throw Refused{fmt::format("more than {} elements along {}", kMostElements, index.name)};
    }
  }
  if (kernel.clusters > kMostElements / kernel.cores) {
    throw Refused{fmt::format("more than {} cores in a launch", kMostElements)};
  }
}

}  // namespace

chip::Needs needs_of(const Kernel& kernel) {
  chip::Needs needs;
  for (const SumsForm& sums : kernel.sums) needs.sums.push_back(size_of(sums));
  needs.together = kernel.all_sums_together || accumulates_over_others(kernel.multiply);
  for (const Load& load : kernel.loads) needs.rings.push_back({load.stages, load.matrix.bytes()});
  for (const ScratchpadMatrix& held : kernel.held)
    needs.rooms.push_back(held.tiles * held.matrix.bytes());
  for (const SharedBuffer& room : kernel.rooms) needs.rooms.push_back(room.bytes);
  for (const Scatter& s : kernel.scatters)
    chip::add_scatter(needs, {s.rows, s.columns}, s.peers.count);
  for (const RingPass& round : kernel.rounds) {
    const MatrixForm& matrix = kernel.held[static_cast<size_t>(round.held)].matrix;
    chip::add_round(needs, matrix.bytes(), round.peers.count);
  }
  needs.barriers += static_cast<int64_t>(kernel.spreads.size());
  if (kernel.finish.adders > 1)
    needs.rooms.push_back(kernel.finish.tile_elements * chip::kSumBytes);
  return needs;
}

void fit(Kernel& kernel, const chip::Chip& chip) {
  check_sizes(kernel);
  if (kernel.cores > 8)
    kernel.repairs.push_back(
        fmt::format("clusters of {} cores, beyond the portable 8", kernel.cores));
  if (!kernel.sums.empty()) choose_groups(kernel, chip);
  choose_panels(kernel);
  fit_scratchpad(kernel, chip);
}

}  // namespace fuseflow::cuda
