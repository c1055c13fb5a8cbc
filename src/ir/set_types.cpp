#include "ir/set_types.h"

#include <fmt/format.h>

#include "ir/data_facts.h"
#include "ir/names.h"
#include "ir/print.h"
#include "tensor/survey.h"

namespace fuseflow {

namespace {

Facts without_range(Facts facts) {
  const Facts anything;
  facts.least = anything.least;
  facts.largest = anything.largest;
  return facts;
}

/// What was proved of the values before they were rounded, and may not hold of the rounded ones.
void weaken_facts(Tensor& tensor) {
  const Facts before = tensor.facts;
  tensor.facts = held_facts(before, tensor.type);
  const Facts named = without_range(before);
  if (joined(tensor.facts, named) == tensor.facts) return;
  tensor.assumed = joined(tensor.assumed, named);
}

}  // namespace

std::vector<std::string> set_float_types(Program& program, ElementType type) {
  std::vector<std::string> notes;
  const TensorReader reader = source_reader(program);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (is_integer(tensor.type) || tensor.type == type) continue;
    if (!tensor.format.all_dense() && !holds(type, tensor.fill)) {
      notes.push_back(fmt::format("%{} stays {}: its absent entries are {}, which {} does not have",
                                  quote_if_needed(tensor.name), element_name(tensor.type),
                                  float_text(tensor.fill), element_name(type)));
      continue;
    }
    tensor.type = type;
    if (tensor.facts == Facts{}) continue;
    const auto data = holds_f32(type) ? nullptr : reader(static_cast<TensorId>(t));
    if (data == nullptr) {
      weaken_facts(tensor);
    } else {
      tensor.facts = without_range(facts_of(*data));
    }
  }
  return notes;
}

}  // namespace fuseflow
