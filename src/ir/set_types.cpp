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

/// What was proved of the values before they were rounded, and may not hold of the rounded ones: it
/// is assumed where some statement reads them.
void weaken_facts(Tensor& tensor, bool is_read) {
  const Facts before = tensor.facts;
  tensor.facts = held_facts(before, tensor.type);
  if (!is_read) return;
  const Facts named = without_range(before);
  if (joined(tensor.facts, named) == tensor.facts) return;
  tensor.assumed = joined(tensor.assumed, named);
}

std::vector<bool> read_tensors(const Program& program) {
  std::vector<bool> read(program.tensors.size(), false);
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      for (const Expr& node : statement.nodes) {
        if (node.kind == Expr::Kind::access) read[static_cast<size_t>(node.tensor)] = true;
      }
    }
  }
  return read;
}

}  // namespace

std::vector<std::string> set_float_types(Program& program, ElementType type) {
  std::vector<std::string> notes;
  const TensorReader reader = source_reader(program);
  const std::vector<bool> read = read_tensors(program);
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
      weaken_facts(tensor, read[t]);
    } else {
      tensor.facts = without_range(facts_of(*data));
    }
  }
  return notes;
}

}  // namespace fuseflow
