// The one place that chooses among programs: by the cost model, never for something that it expects
// to be slower than what was given. Used by every pass that has an `auto`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Where an estimate may be off: how many times the cycles of another program one may take by it
/// that takes fewer.
inline constexpr double kUnsure = 2;

/// Whether `a` is to replace `b`: fewer cycles, by more than rounding, or fewer bytes of memory in
/// no more cycles. What is not known never replaces anything.
bool better(const std::optional<Cost>& a, const std::optional<Cost>& b);

/// One of the programs that a pass could give, and what it says when it does.
struct Candidate {
  Program program;
  PassLog log;
};

/// The best of the candidates, of which the first is the program as it was given: it stays unless
/// another is better. `otherwise`: which one where the machine has no room for any. Appends the
/// winner's log to `log`, and what is uncertain about the choice. `what` differs between them, in
/// the plural, for notes: "orders".
Program choose(std::vector<Candidate> candidates, size_t otherwise, std::string_view what,
               CostModel& costs, PassLog& log);

/// Where simulating both programs takes little: what was given if it is faster than what was
/// chosen. Says so.
Program not_slower(Program chosen, const Program& given, CostModel& costs, PassLog& log);

/// "12345", "does not fit", or "unknown".
std::string cycles_text(const std::optional<Cost>& cost);
/// "12345 cycles by estimate instead of 23456".
std::string gain_text(const Cost& chosen, const Cost& given);

}  // namespace fuseflow
