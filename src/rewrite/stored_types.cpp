#include "rewrite/stored_types.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuseflow {

namespace {

/// The first narrow type of floating numbers that values of the term may have been rounded to; f32:
/// none.
ElementType narrow_type_in(const Term& term, const TypeRead& type_read) {
  const Expr& e = term.expr;
  ElementType type = ElementType::f32;
  if (e.kind == Expr::Kind::access) type = type_read(e.tensor);
  if (e.kind == Expr::Kind::apply && e.op == Op::f16) return ElementType::f16;
  if (e.kind == Expr::Kind::apply && e.op == Op::bf16) return ElementType::bf16;
  if (is_integer(type) || holds_f32(type)) type = ElementType::f32;
  for (const Term& child : term.children) {
    if (type == ElementType::f32) type = narrow_type_in(child, type_read);
  }
  return type;
}

/// Whether the term has no other values than a type of floating numbers: it gives one of those that
/// it reads, but for the sign, or rounds to the type.
bool has_values_of(ElementType type, const Term& term, const TypeRead& type_read) {
  const auto has = [&](const Term& child) { return has_values_of(type, child, type_read); };
  const Expr& e = term.expr;
  if (e.kind == Expr::Kind::access) return type_read(e.tensor) == type;
  if (e.kind == Expr::Kind::constant) return holds(type, e.constant);
  if (e.kind != Expr::Kind::apply) return false;
  switch (e.op) {
    case Op::f16:
      return type == ElementType::f16;
    case Op::bf16:
      return type == ElementType::bf16;
    case Op::where:
      return has(term.children[1]) && has(term.children[2]);
    case Op::abs:
    case Op::neg:
    case Op::relu:
    case Op::min:
    case Op::max:
      return std::all_of(term.children.begin(), term.children.end(), has);
    default:
      return false;
  }
}

}  // namespace

bool only_rounds(ElementType type) {
  return !is_integer(type) && std::isinf(rounded(std::numeric_limits<float>::infinity(), type));
}

bool hold_the_same(ElementType a, ElementType b) {
  return a == b || (holds_f32(a) && holds_f32(b));
}

ElementType type_of_part(const Term& part, const TypeRead& type_read, ElementType reader,
                         bool may_round) {
  const ElementType narrow = narrow_type_in(part, type_read);
  if (!holds_f32(narrow) && has_values_of(narrow, part, type_read)) return narrow;
  const bool keeps = may_round ? only_rounds(reader) : holds_f32(reader);
  return keeps ? reader : ElementType::f32;
}

}  // namespace fuseflow
