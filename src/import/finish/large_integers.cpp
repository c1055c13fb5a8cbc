#include "import/finish/large_integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "support/diagnostics.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// Operators whose results may be larger than what they read. Others move numbers, by sums of which
/// one part is not 0, or have small ones: places and truth values. (Quantised products are sums of
/// so many small numbers that each would be told: see ir-spec/import.md.)
constexpr std::array<std::string_view, 14> kGrowing = {
    "Add",      "CumProd",    "CumSum",    "Einsum",          "Gemm", "MatMul", "Mul", "Pow",
    "ReduceL1", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub",  "Sum"};

bool grows(const Statement& statement) {
  return std::find(kGrowing.begin(), kGrowing.end(), statement.from.op) != kGrowing.end();
}

/// What is wrong with a range of integers; empty if nothing is.
std::string fault_of(const Facts& range, bool is_unsigned) {
  constexpr float kExact = 0x1p24F;
  if (is_unsigned && range.least < 0)
    return "may be below 0, from where integers without a sign would wrap";
  if (range.least <= -kExact || range.largest >= kExact)
    return "may be beyond 2^24, where f32, in which everything is computed, does not have every "
           "whole number";
  return {};
}

}  // namespace

void warn_of_large_integers(const Program& program, const DraftProgram& draft) {
  std::set<std::string> told;
  for (const DraftStatement& made : draft.statements) {
    const Statement& s = made.statement;
    const auto id = static_cast<size_t>(s.result);
    const Tensor& tensor = program.tensors[id];
    if ((tensor.type != ElementType::i32 && tensor.type != ElementType::i64) || !grows(s)) continue;
    const std::string fault = fault_of(tensor.facts, draft.tensors[id].unsigned_word);
    if (fault.empty()) continue;
    const std::string what = fmt::format("node '{}' ({})", shown(s.from.name), s.from.op);
    if (told.insert(what).second)
      report(Severity::warning, fmt::format("{}: results {}", what, fault));
  }
}

}  // namespace fuseflow
