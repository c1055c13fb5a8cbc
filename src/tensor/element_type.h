// Element types of tensors: their names, their bytes, and what each of them makes of a value. What
// is computed is f32; a tensor's values are rounded to its type where they are read from a source
// and where a region stores them (ir-spec/language.md, "Element types").
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/op.h"

namespace fuseflow {

/// Types a tensor may be declared with.
enum class ElementType : uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i32,
  i64,
  u8,
  boolean,
  i8,
  f8e4m3,  ///< OCP E4M3: no infinities, the largest value is 448
  f8e5m2,  ///< OCP E5M2: infinities, the largest finite value is 57344
  i16,
  u16,
};

/// The name of a type in the text of a program: "f32", "bool", ..
std::string_view element_name(ElementType type);
/// The inverse; throws Error(rejected) with the nearest name and the list.
ElementType parse_element_type(std::string_view name);
int64_t element_bytes(ElementType type);
bool is_integer(ElementType type);

/// True if the type holds every f32, so that nothing is ever rounded to it. (What is declared f64
/// is computed and kept as f32.)
bool holds_f32(ElementType type);

/// The type's value nearest to `value`, of two equally near the even one. Beyond the largest:
/// infinity where the type has one, else the largest. NaN stays NaN; of integers it is 0. Of `bool`
/// everything but 0 is 1.
float rounded(float value, ElementType type);
void round_all(std::span<float> values, ElementType type);

/// True if `value` is one of the type's values (NaN is, where the type has it).
bool holds(ElementType type, float value);

/// What is known both of a value and of what the type makes of it.
Facts held_facts(const Facts& facts, ElementType type);

}  // namespace fuseflow
