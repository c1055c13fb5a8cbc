// What a search minimises. Costs of regions add up to that of a program; of the energy-delay
// product, which does not, the root of a region's is used: by Cauchy and Schwarz
// sum sqrt(c e) <= sqrt(sum c * sum e), so sums of it bound that of a program from below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/point_result.h"
#include "machine/machine.h"

namespace fuseflow {

enum class Objective : uint8_t { cycles, energy, edp, dram_bytes };

std::string_view name_of(Objective objective);
std::vector<std::string> objective_names();
std::optional<Objective> find_objective(std::string_view name);

/// What a region or a program takes: simulated, estimated, or a lower bound.
struct Amounts {
  double cycles = 0;  ///< of a program: 0 where it is not known
  double energy_pj = 0;
  double dram_bytes = 0;
  Amounts& operator+=(const Amounts& other);
  Amounts& operator-=(const Amounts& other);
};

Amounts amounts_of(const PointResult& result);
/// Between two regions.
Amounts pause_of(const Machine& machine);

/// The cost that is minimised.
double cost_of(Objective objective, const Amounts& amounts);

/// The amount in its unit: "123 cycles", "4.5e+06 pJ", "1.2e-09 J s", "12 bytes".
std::string amount_text(Objective objective, const Machine& machine, double cost);

}  // namespace fuseflow
