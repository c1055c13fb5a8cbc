// What actions cost and how large units are: the sections `[energy]` and `[area]` of a machine.
// Pure data; what is counted and how it is priced is in energy/ and ir-spec/energy.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/unit_class.h"

namespace fuseflow {

/// What circuit an arithmetic operation needs. Operators are made of these (resources/operators.h).
enum class Arithmetic : uint8_t {
  add,
  compare,  ///< and what only moves or tests bits
  mul,
  div,
  sqrt,
  special,  ///< exp, log, tanh, erf, sin, cos, pow
  count_
};
inline constexpr size_t kArithmetics = static_cast<size_t>(Arithmetic::count_);

/// How wide its operands are: 4 bytes or more, 2, or 1.
enum class Width : uint8_t { w32, w16, w8, count_ };
inline constexpr size_t kWidths = static_cast<size_t>(Width::count_);

/// "add_32", "mul_16", ...
std::string_view arithmetic_name(Arithmetic arithmetic, Width width);

/// Picojoules an action.
struct EnergyModel {
  std::array<std::array<double, kWidths>, kArithmetics> operator_pj{};
  std::array<double, kUnitClasses> step_pj{};  ///< of a unit, without operators and FIFOs
  double fifo_pj_per_word = 0;                 ///< 4 bytes into a FIFO and out of it
  double buffer_pj_per_byte = 0;               ///< an access to a buffer or to accumulated entries
  double scratchpad_pj_per_byte = 0;
  double link_pj_per_byte = 0;
  double register_pj_per_byte = 0;
  double dram_burst_pj = 0;               ///< of `dram.burst_bytes`
  double dram_activation_pj = 0;          ///< of a row
  double dram_activations_per_burst = 0;  ///< where the model of memory does not count rows
  double leakage_pj_per_cycle = 0;
  double leakage_pj_per_cycle_per_mm2 = 0;  ///< of the machine's area
};

struct AreaModel {
  std::array<double, kUnitClasses> unit_um2{};
  double scratchpad_um2_per_byte = 0;  ///< of buffers and accumulated entries too
  double core_um2 = 0;                 ///< of a core with its registers and scratchpad
};

}  // namespace fuseflow
