// What the chip that kernels are generated for (compute capability 9.0) asks of a kernel, in
// numbers alone: threads and registers for its sums, room and alignment in the scratchpad,
// barriers. What a kernel of tiles needs: needs.h. Kernels are fitted by these rules (cuda/fit.h),
// and planners leave out what does not fit, so that what is planned can be built. ir-spec/cuda.md,
// "What is fitted".
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace fuseflow::chip {

/// What a core of the chip has. Bytes, but for registers and counts.
struct Chip {
  int64_t scratchpad = 232448;
  int64_t registers = 65536;     ///< of 4 bytes, of all threads
  int64_t most_registers = 255;  ///< of a thread
  int most_groups = 3;           ///< of 128 threads that multiply
  int64_t most_barriers = 96;
};

/// The chip with a machine's scratchpad, where the machine has its registers and the instructions
/// that generated kernels use: products of 64 x 8 x 16 and 16 x 8 x 16. Else nothing: kernels for
/// such a machine keep its capacities alone.
std::optional<Chip> chip_of(const Machine& machine);

inline constexpr int64_t kUnit = 16;        ///< rows and columns of matrices are multiples
inline constexpr int64_t kDepthBytes = 32;  ///< that an instruction for products sums at a time
inline constexpr int64_t kMostElementBytes = 4;  ///< of what instructions multiply
inline constexpr int64_t kAlignment = 1024;      ///< of all that is in the scratchpad, for swizzles
inline constexpr int64_t kSumBytes = 4;
inline constexpr int64_t kMostReceived = 2;  ///< matrices of others that a core has room for

/// Elements of so many bytes along what products sum are multiples of it.
constexpr int64_t depth_unit(int64_t element_bytes) {
  return std::max(kUnit, kDepthBytes / element_bytes);
}
/// Cores that share columns of f32 have multiples of it; where these become elements that threads
/// put into the scratchpad, the share is whole chunks of 16 bytes.
inline constexpr int64_t kShareUnit = 8;
constexpr int64_t share_unit(int64_t element_bytes) {
  return std::max(kShareUnit, 16 / element_bytes);
}

/// Accumulators in f32.
struct SumsSize {
  int64_t rows = 0, columns = 0;
};

/// Threads that multiply, and the registers that sums take of each.
struct Groups {
  int groups = 1;
  int64_t registers = 0;
};
/// Sums that are alive at a time: all of each of these lists, none of two.
using SumsAlive = std::vector<std::vector<SumsSize>>;
/// The fewest groups that have room; nothing where no number has.
std::optional<Groups> groups_for(const SumsAlive& sums, const Chip& chip);
/// The columns of a product that one group has.
int64_t columns_of_group(const SumsSize& sums, int groups);

/// A matrix that arrives: so many copies of so many bytes, and how many it takes at least.
struct Ring {
  int64_t copies = 1, bytes = 0, least = 1;
};

/// What a kernel needs of a core. Rings lie in the scratchpad first, in this order.
struct Needs {
  SumsAlive sums;
  std::vector<Ring> rings;
  std::vector<int64_t> rooms;  ///< bytes of everything else in the scratchpad
  int64_t barriers = 0;        ///< beside two for each copy of a ring
  /// A step along what is summed that no instruction takes (depth_unit); 0: there is none.
  int64_t uneven_depth = 0;
};

/// Partial sums that cores of a group exchange: what a core stages, and gets of the others. They
/// share columns in multiples of `unit`.
void add_scatter(Needs& needs, const SumsSize& sums, int64_t cores, int64_t unit = kShareUnit);
int64_t scatter_slot(const SumsSize& sums, int64_t cores, int64_t unit = kShareUnit);
/// Matrices of so many bytes that go round a group of cores, and stay there or make room.
void add_round(Needs& needs, int64_t bytes, int64_t cores, bool stay);
int64_t round_slots(int64_t cores, bool stay);

/// Bytes from the beginning of one thing in the scratchpad to the next.
int64_t aligned(int64_t bytes);
int64_t barriers_of(const Needs& needs);
inline constexpr int64_t kFlag = 16;  ///< bytes before the barriers
/// Of tiles that go to all cores of a group: that they have come, and that they have been read.
inline constexpr int64_t kBroadcastBarriers = 2;
/// With alignment, and with the barriers and a flag after everything.
int64_t scratchpad_of(const Needs& needs);

/// Why no instructions take the steps of its products; empty where there are such.
std::string why_uneven(const Needs& needs);
/// Why it does not fit; empty where it does.
std::string why_not(const Needs& needs, const Chip& chip);

/// Takes copies from the largest rings until the scratchpad has room. Why it has not; empty where
/// it has.
std::string fit_copies(Needs& needs, const Chip& chip);

}  // namespace fuseflow::chip
