// Random element types for the tensors of a random program, with what is known of their values
// then.
#pragma once

#include <array>

#include "check.h"
#include "ir/sparsity.h"
#include "recipe.h"
#include "tensor/random.h"
#include "tensor/survey.h"

namespace fuseflow::testing {

/// A random element type; f32 where the type does not have the value that absent entries mean.
inline ElementType draw_type(Random& random, const Tensor& tensor) {
  constexpr std::array kTypes = {ElementType::f16,    ElementType::bf16,   ElementType::f8e4m3,
                                 ElementType::f8e5m2, ElementType::i8,     ElementType::u8,
                                 ElementType::i32,    ElementType::boolean};
  if (random.uniform() < 0.3) return ElementType::f32;
  const ElementType type = kTypes[random.below(kTypes.size())];
  return holds(type, tensor.fill) ? type : ElementType::f32;
}

/// Facts that were stated of the values before stay where they still hold.
inline void draw_types(Program& program, uint64_t seed) {
  Random random(seed, 83);
  for (Tensor& tensor : program.tensors) {
    tensor.type = draw_type(random, tensor);
    if (tensor.source.kind == Source::Kind::none) continue;
    const Storage data = load(tensor.source, known_shape(tensor), tensor.format, tensor.fill,
                              {.element = tensor.type});
    tensor.facts = both(tensor.facts, facts_of(data));
  }
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      Tensor& tensor = program.tensors[s.result];
      Facts proved = held_facts(analyse(program, s).back().facts, tensor.type);
      if (!tensor.format.all_dense()) proved = both(proved, facts_of_constant(tensor.fill));
      tensor.facts = both(tensor.facts, proved);
    }
  }
}

}  // namespace fuseflow::testing
