#include "chip/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/ceil_div.h"

namespace fuseflow::chip {
namespace {

constexpr int64_t kGroup = 128, kWarpsOfGroup = 4, kProducer = 32;
constexpr int64_t kOthers = 64;    ///< registers of a thread beside its sums
constexpr int64_t kWideRows = 64;  ///< of a product of a group
constexpr int64_t kBarrier = 8;    ///< bytes
constexpr int64_t kRegister = 4;   ///< bytes

bool wide(const SumsSize& sums) {
  return sums.rows % kWideRows == 0;
}
int64_t column_groups(const SumsSize& sums, int groups) {
  return groups / std::gcd(sums.rows / kWideRows, int64_t{groups});
}
/// Can so many groups share the sums?
bool divides(const SumsSize& sums, int groups) {
  if (!wide(sums)) return true;
  const int64_t parts = column_groups(sums, groups);
  return sums.columns % parts == 0 && sums.columns / parts % kUnit == 0;
}
/// Registers of a thread.
int64_t registers_of(const SumsSize& sums, int groups) {
  if (wide(sums)) return sums.rows * sums.columns / (kGroup * groups);
  const int64_t blocks = ceil_div(sums.columns / kUnit, kWarpsOfGroup * groups);
  return sums.rows / kUnit * blocks * 8;
}

bool has(const MatrixShape& shape, int64_t rows) {
  return shape.rows == rows && shape.columns == 8 && shape.depth == 16;
}

}  // namespace

std::optional<Chip> chip_of(const Machine& machine) {
  const auto& shapes = machine.core.matrix_shapes;
  Chip chip;
  if (!has(shapes[0], kWideRows) || !has(shapes[1], kUnit)) return std::nullopt;
  if (machine.core.register_bytes != chip.registers * kRegister) return std::nullopt;
  if (machine.core.scratchpad_bytes > 0) chip.scratchpad = machine.core.scratchpad_bytes;
  return chip;
}

std::optional<Groups> groups_for(const SumsAlive& sums, const Chip& chip) {
  for (int groups = 1; groups <= chip.most_groups; ++groups) {
    bool divided = true;
    int64_t most = 0;
    for (const std::vector<SumsSize>& alive : sums) {
      int64_t registers = 0;
      for (const SumsSize& one : alive) {
        divided = divided && divides(one, groups);
        if (divided) registers += registers_of(one, groups);
      }
      most = std::max(most, registers);
    }
    const int64_t threads = kGroup * groups + kProducer;
    const int64_t there = std::min(chip.most_registers, chip.registers / threads / 8 * 8);
    if (divided && most + kOthers <= there) return Groups{groups, most};
  }
  return std::nullopt;
}

int64_t columns_of_group(const SumsSize& sums, int groups) {
  return wide(sums) ? sums.columns / column_groups(sums, groups) : sums.columns;
}

int64_t scatter_slot(const SumsSize& sums, int64_t cores, int64_t unit) {
  return sums.rows * ceil_div(sums.columns / unit, cores) * unit * kSumBytes;
}

void add_scatter(Needs& needs, const SumsSize& sums, int64_t cores, int64_t unit) {
  needs.rooms.push_back(sums.rows * sums.columns * kSumBytes);
  needs.rooms.push_back((cores - 1) * scatter_slot(sums, cores, unit));
  needs.barriers += 2;
}

int64_t round_slots(int64_t cores, bool stay) {
  return stay ? cores - 1 : std::min(kMostReceived, cores - 1);
}

void add_round(Needs& needs, int64_t bytes, int64_t cores, bool stay) {
  const int64_t slots = round_slots(cores, stay);
  needs.rooms.push_back(slots * bytes);
  needs.barriers += slots + cores;
}

int64_t aligned(int64_t bytes) {
  return ceil_div(bytes, kAlignment) * kAlignment;
}

int64_t barriers_of(const Needs& needs) {
  int64_t all = needs.barriers;
  for (const Ring& ring : needs.rings) all += 2 * ring.copies;
  return all;
}

int64_t scratchpad_of(const Needs& needs) {
  int64_t bytes = 0;
  for (const Ring& ring : needs.rings) bytes += aligned(ring.copies * ring.bytes);
  for (const int64_t room : needs.rooms) bytes += aligned(room);
  return bytes + kFlag + barriers_of(needs) * kBarrier;
}

std::string why_uneven(const Needs& needs) {
  if (needs.uneven_depth == 0) return "";
  return fmt::format(
      "steps of {} along what a product sums, which are no multiple of what its "
      "instructions sum",
      needs.uneven_depth);
}

std::string why_not(const Needs& needs, const Chip& chip) {
  if (needs.uneven_depth != 0) return why_uneven(needs);
  if (!groups_for(needs.sums, chip)) {
    size_t tiles = 0;
    for (const auto& alive : needs.sums) tiles += alive.size();
    return fmt::format("sums of {} tiles do not fit the registers of {} threads", tiles,
                       chip.most_groups * kGroup);
  }
  const int64_t barriers = barriers_of(needs), bytes = scratchpad_of(needs);
  if (barriers > chip.most_barriers)
    return fmt::format("{} barriers, more than {}", barriers, chip.most_barriers);
  if (bytes > chip.scratchpad) {
    return fmt::format("{} bytes of a core's scratchpad, which has {}", bytes, chip.scratchpad);
  }
  return "";
}

std::string fit_copies(Needs& needs, const Chip& chip) {
  const auto all = [](const Ring& ring) { return ring.copies * ring.bytes; };
  while (scratchpad_of(needs) > chip.scratchpad) {
    Ring* largest = nullptr;
    for (Ring& ring : needs.rings) {
      if (ring.copies > ring.least && (largest == nullptr || all(ring) > all(*largest)))
        largest = &ring;
    }
    if (largest == nullptr) {
      return fmt::format(
          "{} bytes of a core's scratchpad with the fewest copies of each operand, which has {}",
          scratchpad_of(needs), chip.scratchpad);
    }
    --largest->copies;
  }
  const int64_t barriers = barriers_of(needs);
  if (barriers <= chip.most_barriers) return "";
  return fmt::format("{} barriers, more than {}", barriers, chip.most_barriers);
}

}  // namespace fuseflow::chip
