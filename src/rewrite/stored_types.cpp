#include "rewrite/stored_types.h"

#include <cmath>
#include <limits>

namespace fuseflow {

bool only_rounds(ElementType type) {
  return !is_integer(type) && std::isinf(rounded(std::numeric_limits<float>::infinity(), type));
}

bool hold_the_same(ElementType a, ElementType b) {
  return a == b || (holds_f32(a) && holds_f32(b));
}

ElementType type_of_part(ElementType reader, bool may_round) {
  const bool keeps = may_round ? only_rounds(reader) : holds_f32(reader);
  return keeps ? reader : ElementType::f32;
}

}  // namespace fuseflow
