#include "passes/choose.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/print.h"

namespace fuseflow {

namespace {

/// Gains that are worth a change: of cycles, beyond rounding; of bytes at no more cycles.
constexpr double kChoiceGain = 0.999;
constexpr double kByteGain = 0.95;

}  // namespace

bool better(const std::optional<Cost>& a, const std::optional<Cost>& b) {
  if (!a || !std::isfinite(a->cycles)) return false;
  if (!b) return false;
  if (a->cycles < kChoiceGain * b->cycles) return true;
  return a->cycles <= b->cycles && a->dram_bytes < kByteGain * b->dram_bytes;
}

std::string gain_text(const Cost& chosen, const Cost& given) {
  if (!std::isfinite(given.cycles)) {
    return fmt::format("{:.0f} cycles by estimate; as given it does not fit the machine",
                       chosen.cycles);
  }
  return fmt::format("{:.0f} cycles by estimate instead of {:.0f}", chosen.cycles, given.cycles);
}

Program not_slower(Program chosen, const Program& given, CostModel& costs, PassLog& log) {
  if (print_program(chosen) == print_program(given)) return chosen;
  const std::optional<double> after = costs.simulated(chosen);
  const std::optional<double> before = after ? costs.simulated(given) : std::nullopt;
  if (!before || *after <= *before) return chosen;
  log.note(std::isfinite(*after)
               ? fmt::format("simulated, that takes {:.0f} cycles instead of {:.0f}: the program "
                             "stays as it was",
                             *after, *before)
               : "simulated, that does not end on this machine: the program stays as it was");
  return given;
}

Program choose(std::vector<Candidate> candidates, size_t otherwise, std::string_view what,
               CostModel& costs, PassLog& log) {
  const std::optional<Cost> given = costs.of_program(candidates[0].program);
  std::optional<Cost> least = given;
  size_t chosen = 0;
  const double margin = costs.margin();
  for (size_t c = 1; c < candidates.size(); ++c) {
    std::optional<Cost> cost = costs.of_program(candidates[c].program);
    if (!better(cost, least)) continue;
    if (margin > 0 && cost->cycles > (1 - margin) * given->cycles) continue;
    least = std::move(cost);
    chosen = c;
  }
  const bool fits = !least || std::isfinite(least->cycles);
  if (!fits) chosen = otherwise;
  for (const std::string& line : candidates[chosen].log.lines()) log.note(line);
  if (!least) {
    log.note("the program stays as it was: its cycles cannot be estimated");
  } else if (!fits) {
    log.note("whatever is chosen, the machine has no room for it");
  } else {
    log.note(chosen > 0
                 ? gain_text(*least, *given)
                 : fmt::format(
                       "no other {} are {} by estimate than those of the program as it was given",
                       what, margin > 0 ? "surely faster" : "faster"));
    const std::string& doubt = least->doubt.empty() ? given->doubt : least->doubt;
    if (!doubt.empty()) log.note("the estimate is not certain: " + doubt);
  }
  return std::move(candidates[chosen].program);
}

}  // namespace fuseflow
