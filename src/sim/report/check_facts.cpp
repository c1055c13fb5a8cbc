#include "sim/report/check_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/names.h"
#include "ir/print.h"
#include "tensor/survey.h"

namespace fuseflow {
namespace {

[[noreturn]] void complain(const Tensor& tensor, const Contradiction& found) {
  const std::string name = "%" + quote_if_needed(tensor.name);
  const std::string place =
      found.is_fill ? fmt::format("absent entries of {} are {}", name, float_text(found.value))
                    : fmt::format("{} is {} at [{}]", name, float_text(found.value),
                                  fmt::join(found.coords, ", "));
  const bool stated = !satisfies(found.value, tensor.facts);
  const bool given = tensor.given();
  throw Error(
      ExitCode::unfinished, tensor.where,
      fmt::format("{}, which contradicts its {}({}): results may be wrong; remove it{}", place,
                  stated ? "facts" : "assume", facts_text(stated ? tensor.facts : tensor.assumed),
                  given ? ", and what holds of the data is found by reading them"
                        : " and lower the program again"));
}

}  // namespace

void assert_facts(const Tensor& tensor, const Storage& storage) {
  const auto found = find_contradiction(storage, joined(tensor.facts, tensor.assumed));
  if (found) complain(tensor, *found);
}

void assert_facts(const Tensor& tensor, const Value& value) {
  if (value.sparse != nullptr) return assert_facts(tensor, *value.sparse);
  const Facts facts = joined(tensor.facts, tensor.assumed);
  if (facts == Facts{}) return;
  const auto wrong = std::find_if(value.dense->begin(), value.dense->end(),
                                  [&](float v) { return !satisfies(v, facts); });
  if (wrong == value.dense->end()) return;
  Contradiction found{std::vector<int64_t>(value.shape.size()), false, *wrong};
  int64_t rest = wrong - value.dense->begin();
  for (size_t d = value.shape.size(); d-- > 0;) {
    found.coords[d] = rest % value.shape[d];
    rest /= value.shape[d];
  }
  complain(tensor, found);
}

}  // namespace fuseflow
