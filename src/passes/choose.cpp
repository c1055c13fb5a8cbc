#include "passes/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/print.h"

namespace fuseflow {

namespace {

/// Gains that are worth a change: of cycles, beyond rounding; of bytes at no more cycles.
constexpr double kChoiceGain = 0.999;
constexpr double kByteGain = 0.95;
/// Programs that are simulated where an estimate may be off.
constexpr size_t kMostSimulated = 8;
constexpr double kMostTokens = 1e7;  ///< of all of them

double cycles_of(const std::optional<Cost>& cost) {
  return cost ? cost->cycles : INFINITY;
}

/// Positions of the programs that are worth a simulation, and not expected to be slower than given,
/// the least by estimate first, equal ones once, as many as take little; `chosen` is among them,
/// and what was given, if there is room for it. None where these two take long.
std::vector<size_t> finalists(const std::vector<Candidate>& candidates,
                              const std::vector<std::optional<Cost>>& costs, size_t chosen) {
  std::vector<size_t> found;
  std::vector<std::string> texts;
  double tokens = 0;
  const auto add = [&](size_t c) {
    if (!(tokens + costs[c]->tokens <= kMostTokens)) return false;
    std::string text = print_program(candidates[c].program);
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) return true;
    texts.push_back(std::move(text));
    found.push_back(c);
    tokens += costs[c]->tokens;
    return true;
  };
  const bool given_fits = costs[0] && std::isfinite(costs[0]->cycles);
  if (!add(chosen) || (given_fits && !add(0))) return {};
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return cycles_of(costs[a]) < cycles_of(costs[b]); });
  const double most = std::min(kUnsure * costs[chosen]->cycles, cycles_of(costs[0]));
  for (const size_t c : order) {
    if (cycles_of(costs[c]) <= most && found.size() < kMostSimulated) add(c);
  }
  return found;
}

/// Whether values decide what was chosen, or what was given, takes: an estimate may mistake.
bool is_doubtful(const std::vector<std::optional<Cost>>& costs, size_t chosen) {
  return !costs[chosen]->doubt.empty() || (costs[0] && !costs[0]->doubt.empty());
}

struct Simulated {
  size_t position = 0;
  double cycles = 0;
  double given = 0;  ///< cycles of the program as given
};

/// The fastest of the finalists as simulated; nothing where that takes long, or is not known of
/// what was chosen or given.
std::optional<Simulated> fastest(const std::vector<Candidate>& candidates,
                                 const std::vector<std::optional<Cost>>& known, size_t chosen,
                                 CostModel& costs) {
  Simulated best{chosen, INFINITY, INFINITY};
  for (const size_t c : finalists(candidates, known, chosen)) {
    const std::optional<double> cycles = costs.simulated(candidates[c].program);
    if (!cycles && (c == 0 || c == chosen)) return std::nullopt;
    if (!cycles) continue;
    if (c == 0) best.given = *cycles;
    if (*cycles < best.cycles) {
      best.position = c;
      best.cycles = *cycles;
    }
  }
  return std::isfinite(best.cycles) ? std::optional(best) : std::nullopt;
}

}  // namespace

bool better(const std::optional<Cost>& a, const std::optional<Cost>& b) {
  if (!a || !std::isfinite(a->cycles)) return false;
  if (!b) return false;
  if (a->cycles < kChoiceGain * b->cycles) return true;
  return a->cycles <= b->cycles && a->dram_bytes < kByteGain * b->dram_bytes;
}

std::string cycles_text(const std::optional<Cost>& cost) {
  if (!cost) return "unknown";
  return std::isfinite(cost->cycles) ? fmt::format("{:.0f}", cost->cycles) : "does not fit";
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
  std::vector<std::optional<Cost>> all;
  for (const Candidate& candidate : candidates) all.push_back(costs.of_program(candidate.program));
  const std::optional<Cost>& given = all[0];
  std::optional<Cost> least = given;
  size_t chosen = 0;
  const double margin = costs.margin();
  for (size_t c = 1; c < candidates.size(); ++c) {
    if (!better(all[c], least)) continue;
    if (margin > 0 && given && all[c]->cycles > (1 - margin) * given->cycles) continue;
    least = all[c];
    chosen = c;
  }
  const bool fits = !least || std::isfinite(least->cycles);
  if (!fits) chosen = otherwise;
  const size_t by_estimate = chosen;
  std::optional<Simulated> simulated;
  if (least && fits && (margin > 0 || is_doubtful(all, chosen))) {
    simulated = fastest(candidates, all, chosen, costs);
  }
  if (simulated) {
    chosen = simulated->position;
    least = all[chosen];
  }
  for (const std::string& line : candidates[chosen].log.lines()) log.note(line);
  if (!least) {
    const std::string why = costs.why_unknown();
    log.note("the program stays as it was: its cycles cannot be estimated" +
             (why.empty() ? "" : ", because " + why));
  } else if (!fits) {
    log.note("nothing that was tried fits the machine");
  } else {
    log.note(chosen > 0 && simulated && std::isfinite(simulated->given)
                 ? fmt::format("{:.0f} cycles as simulated instead of {:.0f}", simulated->cycles,
                               simulated->given)
             : chosen > 0 ? gain_text(*least, *given)
             : by_estimate > 0
                 ? fmt::format("simulated, no other {} take fewer cycles than the {:.0f} of the "
                               "program as it was given",
                               what, simulated->cycles)
                 : fmt::format(
                       "no other {} are {} by estimate than those of the program as it was given",
                       what, margin > 0 ? "surely faster" : "faster"));
    const std::string& doubt = least->doubt.empty() ? given->doubt : least->doubt;
    if (!doubt.empty()) log.note("the estimate is not certain: " + doubt);
  }
  return std::move(candidates[chosen].program);
}

}  // namespace fuseflow
