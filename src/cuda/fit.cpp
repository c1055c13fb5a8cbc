#include "cuda/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cuda/coordinates.h"
#include "cuda/refuse.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kGroup = 128, kWarpsOfGroup = 4, kProducer = 32;
constexpr int64_t kOthers = 64;       ///< registers of a thread beside its sums
constexpr int64_t kWideRows = 64;     ///< of a product of a group
constexpr int64_t kAlignment = 1024;  ///< of matrices with a swizzle
constexpr int64_t kMostElements = int64_t{1} << 30;
constexpr int64_t kFlag = 16;  ///< bytes before the barriers

bool wide(const SumsForm& sums) {
  return sums.rows % kWideRows == 0;
}
int64_t column_groups(const SumsForm& sums, int groups) {
  return groups / std::gcd(sums.rows / kWideRows, int64_t{groups});
}
/// Can so many groups share the sums?
bool divides(const SumsForm& sums, int groups) {
  if (!wide(sums)) return true;
  const int64_t parts = column_groups(sums, groups);
  return sums.columns % parts == 0 && sums.columns / parts % 16 == 0;
}
/// Registers of a thread.
int64_t registers_of(const SumsForm& sums, int groups) {
  if (wide(sums)) return sums.rows * sums.columns / (kGroup * groups);
  const int64_t blocks =
      (sums.columns / 16 + kWarpsOfGroup * groups - 1) / (kWarpsOfGroup * groups);
  return sums.rows / 16 * blocks * 8;
}

/// Whether sums are alive while others are made: those of a chain's result that are summed over
/// steps of N.
bool accumulates_over_others(const std::vector<Step>& steps) {
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].what == Do::clear && steps[i + 1].what == Do::loop && steps[i + 1].variable == "n")
      return true;
  }
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return accumulates_over_others(step.body); });
}

void choose_groups(Kernel& kernel, const Chip& chip) {
  const bool together = kernel.all_sums_together || accumulates_over_others(kernel.multiply);
  for (int groups = 1; groups <= chip.most_groups; ++groups) {
    if (!std::all_of(kernel.sums.begin(), kernel.sums.end(),
                     [&](const SumsForm& s) { return divides(s, groups); }))
      continue;
    int64_t made = 0;  // C, or the two branches
    for (size_t i = 0; i + 1 < kernel.sums.size(); ++i)
      made += registers_of(kernel.sums[i], groups);
    const int64_t last = registers_of(kernel.sums.back(), groups);
    const int64_t needed = together ? made + last : std::max(made, last);
    const int64_t threads = kGroup * groups + kProducer;
    const int64_t there = std::min(chip.most_registers, chip.registers / threads / 8 * 8);
    if (needed + kOthers > there) continue;
    kernel.groups = groups;
    kernel.registers = needed;
    return;
  }
  throw Refused{fmt::format("sums of {} tiles do not fit the registers of {} threads",
                            kernel.sums.size(), chip.most_groups * kGroup)};
}

/// The columns of a product that one group has, of which the right factor's panels have to be
/// parts.
int64_t columns_of_group(const SumsForm& sums, int groups) {
  return wide(sums) ? sums.columns / column_groups(sums, groups) : sums.columns;
}

/// The sums that a load is multiplied into, and on which side.
struct Use {
  int sums = -1;
  bool right = false;
};
void find_use(const std::vector<Step>& steps, int load, Use& use) {
  for (const Step& step : steps) {
    if (step.what == Do::multiply) {
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
      whole = std::gcd(whole,
                       columns_of_group(kernel.sums[static_cast<size_t>(use.sums)], kernel.groups));
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
    at = rounded_up(at + bytes, kAlignment);
    return here;
  };
  kernel.load_at.clear();
  kernel.held_at.clear();
  kernel.staged_at.clear();
  kernel.slots_at.clear();
  kernel.round_at.clear();
  for (const Load& load : kernel.loads)
    kernel.load_at.push_back(take(load.stages * load.matrix.bytes()));
  for (const Held& held : kernel.held)
    kernel.held_at.push_back(take(held.tiles * held.matrix.bytes()));
  kernel.room_at.clear();
  for (const Room& room : kernel.rooms) kernel.room_at.push_back(take(room.bytes));
  for (const Scatter& s : kernel.scatters) {
    kernel.staged_at.push_back(take(s.rows * s.columns * 4));
    const int64_t slot = s.rows * ((s.columns / 8 + s.peers.count - 1) / s.peers.count * 8) * 4;
    kernel.slots_at.push_back(take((s.peers.count - 1) * slot));
  }
  for (const Round& round : kernel.rounds) {
    kernel.round_at.push_back(
        take(round.slots * kernel.held[static_cast<size_t>(round.held)].matrix.bytes()));
  }
  if (kernel.finish.adders > 1) kernel.add_at = take(kernel.finish.tile_elements * 4);
  kernel.barriers_at = at + kFlag;
  return kernel.barriers_at + int64_t{kernel.barriers} * 8;
}

void number_barriers(Kernel& kernel, const Chip& chip) {
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
  for (const Round& round : kernel.rounds)
    kernel.round_barrier.push_back(take(round.slots + round.peers.count));
  kernel.barriers = next;
  if (next > chip.most_barriers)
    throw Refused{fmt::format("{} barriers, more than {}", next, chip.most_barriers)};
}

void fit_scratchpad(Kernel& kernel, const Chip& chip) {
  std::vector<int64_t> planned;
  for (const Load& load : kernel.loads) planned.push_back(load.stages);
  while (true) {
    number_barriers(kernel, chip);
    kernel.scratchpad = lay_out(kernel);
    if (kernel.scratchpad <= chip.scratchpad) break;
    Load* largest = nullptr;
    for (Load& load : kernel.loads) {
      if (load.stages > 1 &&
          (largest == nullptr ||
           load.stages * load.matrix.bytes() > largest->stages * largest->matrix.bytes())) {
        largest = &load;
      }
    }
    if (largest == nullptr) {
      throw Refused{
          fmt::format("{} bytes of a core's scratchpad with one copy of each operand, which has {}",
                      kernel.scratchpad, chip.scratchpad)};
    }
    --largest->stages;
  }
  for (size_t i = 0; i < planned.size(); ++i) {
    const Load& load = kernel.loads[i];
    if (load.stages < planned[i]) {
      kernel.repairs.push_back(
          fmt::format("{}: {} copies for {}, the scratchpad has no room for more", load.name,
                      load.stages, planned[i]));
    }
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

void fit(Kernel& kernel, const Chip& chip) {
  check_sizes(kernel);
  if (kernel.cores > 8)
    kernel.repairs.push_back(
        fmt::format("clusters of {} cores, beyond the portable 8", kernel.cores));
  if (!kernel.sums.empty()) choose_groups(kernel, chip);
  choose_panels(kernel);
  fit_scratchpad(kernel, chip);
}

}  // namespace fuseflow::cuda
