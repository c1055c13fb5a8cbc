#include "explore/objective.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "energy/price.h"

namespace fuseflow {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"cycles", "energy", "edp", "dram_bytes"};

}  // namespace

std::string_view name_of(Objective objective) {
  return kNames[static_cast<size_t>(objective)];
}

std::vector<std::string> objective_names() {
  return {kNames.begin(), kNames.end()};
}

std::optional<Objective> find_objective(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Objective>(i);
  }
  return std::nullopt;
}

Amounts& Amounts::operator+=(const Amounts& other) {
  cycles += other.cycles;
  energy_pj += other.energy_pj;
  dram_bytes += other.dram_bytes;
  return *this;
}

Amounts& Amounts::operator-=(const Amounts& other) {
  cycles -= other.cycles;
  energy_pj -= other.energy_pj;
  dram_bytes -= other.dram_bytes;
  return *this;
}

Amounts amounts_of(const PointResult& result) {
  return {static_cast<double>(result.cycles), static_cast<double>(result.energy_pj),
          static_cast<double>(result.dram_bytes)};
}

Amounts pause_of(const Machine& machine) {
  return {static_cast<double>(machine.reconfiguration_cycles), pause_pj(machine), 0};
}

double cost_of(Objective objective, const Amounts& amounts) {
  switch (objective) {
    case Objective::energy:
      return amounts.energy_pj;
    case Objective::edp:
      return std::sqrt(amounts.cycles * amounts.energy_pj);
    case Objective::dram_bytes:
      return amounts.dram_bytes;
    case Objective::cycles:
      break;
  }
  return amounts.cycles;
}

std::string amount_text(Objective objective, const Machine& machine, double cost) {
  switch (objective) {
    case Objective::energy:
      return fmt::format("{:.0f} pJ", cost);
    case Objective::edp:
      return fmt::format("{:.6g} J s", edp(machine, cost, cost));
    case Objective::dram_bytes:
      return fmt::format("{:.0f} bytes", cost);
    case Objective::cycles:
      break;
  }
  return fmt::format("{:.0f} cycles", cost);
}

}  // namespace fuseflow
