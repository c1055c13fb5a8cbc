#include "cuda/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "chip/needs.h"
#include "cuda/coordinates.h"
#include "cuda/refuse.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow::cuda {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30;
constexpr int64_t kWidestPanel = 128;  ///< bytes, of a swizzle

chip::SumsSize size_of(const SumsForm& sums) {
  return {sums.rows, sums.columns};
}

void choose_groups(Kernel& kernel, const chip::Chip& chip) {
  const auto groups = chip::groups_for(kernel.needs.sums, chip);
  if (!groups) throw Refused{chip::why_not(kernel.needs, chip)};
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
    const int64_t bytes = whole * load.matrix.size();
    load.matrix.panel_bytes = std::gcd(bytes, kWidestPanel);
    if (load.matrix.panel_bytes < kWidestPanel) {
      kernel.choices.push_back(
          fmt::format("{}: panels of {} elements, since {} are no multiple of {}", load.name,
                      load.matrix.panel(), whole, kWidestPanel / load.matrix.size()));
    }
  }
}

/// Places and barriers, one after the other as the kernel's needs have them. What does not agree
/// with these is a mistake in here.
class Layout {
 public:
  explicit Layout(const chip::Needs& needs) : needs_(needs) {}

  int64_t ring() {
    const chip::Ring& ring = needs_.rings[ring_++];
    return take(ring.copies * ring.bytes);
  }
  int64_t room(int64_t bytes) {
    if (room_ == needs_.rooms.size() || needs_.rooms[room_] != bytes) disagree();
    ++room_;
    return take(bytes);
  }
  int barriers(int64_t count) {
    const int first = barrier_;
    barrier_ += static_cast<int>(count);
    return first;
  }
  /// Where the barriers are.
  int64_t end() {
    if (room_ != needs_.rooms.size() || barrier_ != chip::barriers_of(needs_)) disagree();
    return at_ + chip::kFlag;
  }

 private:
  int64_t take(int64_t bytes) { return std::exchange(at_, at_ + chip::aligned(bytes)); }
  [[noreturn]] static void disagree() {
    throw Defect("the objects of a kernel are not what it was said to need");
  }

  const chip::Needs& needs_;
  size_t ring_ = 0, room_ = 0;
  int64_t at_ = 0;
  int barrier_ = 0;
};

/// Sets where everything is.
void lay_out(Kernel& kernel) {
  Layout layout(kernel.needs);
  for (const chip::Ring& ring : kernel.needs.rings) {
    kernel.ring_at.push_back(layout.ring());
    kernel.ring_barrier.push_back(layout.barriers(2 * ring.copies));
  }
  for (const ScratchpadMatrix& held : kernel.held)
    kernel.held_at.push_back(layout.room(held.tiles * held.matrix.bytes()));
  for (const SharedBuffer& room : kernel.rooms) kernel.room_at.push_back(layout.room(room.bytes));
  for (const Scatter& s : kernel.scatters) {
    kernel.staged_at.push_back(layout.room(s.rows * s.columns * chip::kSumBytes));
    const int64_t slot = chip::scatter_slot({s.rows, s.columns}, s.peers.count, s.unit);
    kernel.slots_at.push_back(layout.room((s.peers.count - 1) * slot));
    kernel.scatter_barrier.push_back(layout.barriers(2));
  }
  for (size_t i = 0; i < kernel.spreads.size(); ++i)
    kernel.spread_barrier.push_back(layout.barriers(1));
  for (const RingPass& round : kernel.rounds) {
    kernel.round_at.push_back(
        layout.room(round.slots * kernel.held[static_cast<size_t>(round.held)].matrix.bytes()));
    kernel.round_barrier.push_back(layout.barriers(round.slots + round.peers.count));
  }
  for (size_t i = 0; i < kernel.broadcasts.size(); ++i)
    kernel.broadcast_barrier.push_back(layout.barriers(chip::kBroadcastBarriers));
  if (kernel.finish.adders > 1)
    kernel.add_at = layout.room(kernel.finish.tile_elements * chip::kSumBytes);
  kernel.barriers_at = layout.end();
  kernel.barriers = static_cast<int>(chip::barriers_of(kernel.needs));
  kernel.scratchpad = chip::scratchpad_of(kernel.needs);
}

void fit_scratchpad(Kernel& kernel, const chip::Chip& chip) {
  const std::vector<chip::Ring> planned = kernel.needs.rings;
  const std::string why = chip::fit_copies(kernel.needs, chip);
  if (!why.empty()) throw Refused{why};
  for (const Load& load : kernel.loads) {
    const auto ring = static_cast<size_t>(load.ring);
    const int64_t copies = kernel.needs.rings[ring].copies;
    if (copies < planned[ring].copies) {
      kernel.repairs.push_back(
          fmt::format("{}: {} copies for {}, the scratchpad has no room for more", load.name,
                      copies, planned[ring].copies));
    }
  }
  lay_out(kernel);
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

void fit(Kernel& kernel, const chip::Chip& chip) {
  check_sizes(kernel);
  if (kernel.cores > 8)
    kernel.repairs.push_back(
        fmt::format("clusters of {} cores, beyond the portable 8", kernel.cores));
  const auto needs = chip::needs_of(*kernel.graph);
  if (!needs) throw Defect("nobody said what a kernel needs of the chip");
  kernel.needs = *needs;
  if (const std::string why = chip::why_uneven(*needs); !why.empty()) throw Refused{why};
  for (TileBroadcast& broadcast : kernel.broadcasts) {
    if (broadcast.held >= 0)
      broadcast.bytes = kernel.held[static_cast<size_t>(broadcast.held)].matrix.bytes();
  }
  if (!kernel.sums.empty()) choose_groups(kernel, chip);
  choose_panels(kernel);
  fit_scratchpad(kernel, chip);
}

}  // namespace fuseflow::cuda
