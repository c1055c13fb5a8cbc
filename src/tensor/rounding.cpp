#include "tensor/rounding.h"

#include "ops/op_class.h"

namespace fuseflow {

std::optional<Op> rounding_operator(ElementType type) {
  if (type == ElementType::f16) return Op::f16;
  if (type == ElementType::bf16) return Op::bf16;
  return std::nullopt;
}

bool has_values_of(ElementType type, ElementType other) {
  if (type == other || holds_f32(type)) return true;
  if (type != ElementType::f16 && type != ElementType::bf16) return false;
  return element_bytes(other) == 1;  // 8 bits of mantissa hold whole numbers up to 256
}

bool keeps_type(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::relu:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::min:
    case Op::max:
    case Op::where:
      return true;
    default:
      return is_boolean(op);
  }
}

}  // namespace fuseflow
