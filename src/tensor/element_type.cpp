#include "tensor/element_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/binary_float.h"
#include "support/error.h"
#include "support/suggest.h"

namespace fuseflow {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargestFloat = std::numeric_limits<float>::max();

/// What becomes of a value.
enum class Rounding : uint8_t { none, binary, integer, truth };

struct TypeInfo {
  std::string_view name;
  int64_t bytes;
  Rounding rounding;
  float least, largest;     ///< of the finite values
  BinaryFloat binary = {};  ///< where it is rounded so
};

/// By ElementType. The bounds of wide integers are those that an f32 can have.
constexpr std::array<TypeInfo, 13> kTypeInfos = {{
    {"f32", 4, Rounding::none, -kLargestFloat, kLargestFloat},
    {"f64", 8, Rounding::none, -kLargestFloat, kLargestFloat},
    {"f16", 2, Rounding::binary, -kF16.largest, kF16.largest, kF16},
    {"bf16", 2, Rounding::binary, -kBf16.largest, kBf16.largest, kBf16},
    {"i32", 4, Rounding::integer, -0x1p31F, 0x1.FFFFFEp30F},
    {"i64", 8, Rounding::integer, -0x1p63F, 0x1.FFFFFEp62F},
    {"u8", 1, Rounding::integer, 0, 255},
    {"bool", 1, Rounding::truth, 0, 1},
    {"i8", 1, Rounding::integer, -128, 127},
    {"f8e4m3", 1, Rounding::binary, -kF8e4m3.largest, kF8e4m3.largest, kF8e4m3},
    {"f8e5m2", 1, Rounding::binary, -kF8e5m2.largest, kF8e5m2.largest, kF8e5m2},
    {"i16", 2, Rounding::integer, -32768, 32767},
    {"u16", 2, Rounding::integer, 0, 65535},
}};

const TypeInfo& info(ElementType type) {
  return kTypeInfos.at(static_cast<size_t>(type));
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  names.reserve(kTypeInfos.size());
  for (const TypeInfo& type : kTypeInfos) names.emplace_back(type.name);
  return names;
}

float round_integer(float value, const TypeInfo& type) {
  if (std::isnan(value)) return 0;
  // + 0: an integer has no negative zero.
  return std::clamp(std::nearbyint(value), type.least, type.largest) + 0.0F;
}

float as_stored(float value, const TypeInfo& type) {
  switch (type.rounding) {
    case Rounding::none:
      return value;
    case Rounding::binary:
      return rounded_to(value, type.binary);
    case Rounding::integer:
      return round_integer(value, type);
    case Rounding::truth:
      return value == 0 ? 0.0F : 1.0F;
  }
  return value;
}

/// Types by the names that they have in other languages.
constexpr std::array<Foreign, 27> kForeignTypes = {
    {{"float", "f32"},  {"float32", "f32"},         {"fp32", "f32"},         {"single", "f32"},
     {"real", "f32"},   {"double", "f64"},          {"float64", "f64"},      {"fp64", "f64"},
     {"half", "f16"},   {"float16", "f16"},         {"fp16", "f16"},         {"bfloat16", "bf16"},
     {"int", "i32"},    {"int32", "i32"},           {"long", "i64"},         {"int64", "i64"},
     {"short", "i16"},  {"int16", "i16"},           {"int8", "i8"},          {"uint8", "u8"},
     {"byte", "u8"},    {"uint16", "u16"},          {"boolean", "bool"},     {"i1", "bool"},
     {"fp8", "f8e4m3"}, {"float8e4m3fn", "f8e4m3"}, {"float8e5m2", "f8e5m2"}}};

}  // namespace

std::string_view element_name(ElementType type) {
  return info(type).name;
}

ElementType parse_element_type(std::string_view name) {
  for (size_t t = 0; t < kTypeInfos.size(); ++t) {
    if (kTypeInfos[t].name == name) return static_cast<ElementType>(t);
  }
  const std::vector<std::string> names = type_names();
  throw Error(ExitCode::rejected,
              fmt::format("unknown element type '{}'{}, expected one of {}", name,
                          did_you_mean(name, names, kForeignTypes, " (did you mean '", "'?)"),
                          fmt::join(names, ", ")));
}

int64_t element_bytes(ElementType type) {
  return info(type).bytes;
}

bool is_integer(ElementType type) {
  return info(type).rounding == Rounding::integer || info(type).rounding == Rounding::truth;
}

bool holds_f32(ElementType type) {
  return info(type).rounding == Rounding::none;
}

float rounded(float value, ElementType type) {
  return as_stored(value, info(type));
}

void round_all(std::span<float> values, ElementType type) {
  if (holds_f32(type)) return;
  const TypeInfo& to = info(type);
  for (float& value : values) value = as_stored(value, to);
}

bool holds(ElementType type, float value) {
  if (std::isnan(value)) return !is_integer(type);
  return rounded(value, type) == value;
}

Facts held_facts(const Facts& facts, ElementType type) {
  if (holds_f32(type)) return facts;
  const bool truth = info(type).rounding == Rounding::truth;
  const float least = std::max(facts.least, facts.finite ? -kLargestFloat : -kInfinity);
  const float largest = std::min(facts.largest, facts.below_inf ? kLargestFloat : kInfinity);
  Facts held = facts;
  held.below_inf = facts.below_inf && rounded(largest, type) < kInfinity;
  held.finite = facts.finite && held.below_inf && rounded(least, type) > -kInfinity;
  const bool above = facts.least > 0 && rounded(facts.least, type) > 0;
  const bool below = facts.largest < 0 && rounded(facts.largest, type) < 0;
  const bool numbers = facts.no_nan || !is_integer(type);  // an integer makes 0 of NaN
  held.nonzero = facts.nonzero && (truth || (numbers && (above || below)));
  // Rounding keeps the order of values, so the ends of a range bound what is rounded, too.
  held.least = std::min(facts.least, rounded(facts.least, type));
  held.largest = std::max(facts.largest, rounded(facts.largest, type));
  if (truth || !numbers) {
    held.least = std::min(held.least, 0.0F);
    held.largest = std::max(held.largest, 1.0F);
  }
  return held;
}

}  // namespace fuseflow
