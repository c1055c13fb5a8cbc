// What each element type makes of a value: halfway cases, the ends of its range, subnormal numbers,
// infinities and NaN; compared with the list of the type's values where that is short.
#include "tensor/element_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/source.h"
#include "tensor/survey.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::kInf;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ElementType, NamesAndBytes) {
  const std::vector<std::pair<const char*, int64_t>> types = {
      {"f32", 4},  {"f64", 8}, {"f16", 2},    {"bf16", 2},   {"i32", 4}, {"i64", 8}, {"u8", 1},
      {"bool", 1}, {"i8", 1},  {"f8e4m3", 1}, {"f8e5m2", 1}, {"i16", 2}, {"u16", 2}};
  for (const auto& [name, bytes] : types) {
    const ElementType type = parse_element_type(name);
    EXPECT_EQ(element_name(type), name);
    EXPECT_EQ(element_bytes(type), bytes);
  }
  testing::expect_contains(testing::error_of([] { parse_element_type("f33"); }),
                           "did you mean 'f32'?");
  EXPECT_TRUE(is_integer(ElementType::boolean));
  EXPECT_TRUE(is_integer(ElementType::i8));
  EXPECT_FALSE(is_integer(ElementType::bf16));
}

/// The finite values, not negative, of a float with so many bits of exponent and mantissa.
std::vector<float> values_of(int exponent_bits, int mantissa_bits, float largest) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  std::vector<float> values;
  for (int code = 0; code < 1 << (exponent_bits + mantissa_bits); ++code) {
    const int exponent = code >> mantissa_bits;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const float value =
        std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - mantissa_bits);
    if (value <= largest) values.push_back(value);
  }
  return values;
}

/// Every value stays; between two neighbours the nearer one is taken, in the middle the even one.
void check_neighbours(ElementType type, const std::vector<float>& values) {
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const float low = values[i], high = values[i + 1];
    const float middle = low + (high - low) / 2;
    const float even = i % 2 == 0 ? low : high;
    for (const float sign : {1.0F, -1.0F}) {
      EXPECT_EQ(rounded(sign * low, type), sign * low);
      EXPECT_EQ(rounded(sign * middle, type), sign * even) << middle;
      EXPECT_EQ(rounded(sign * std::nextafter(middle, 0.0F), type), sign * low) << middle;
      EXPECT_EQ(rounded(sign * std::nextafter(middle, kInf), type), sign * high) << middle;
    }
  }
  EXPECT_TRUE(std::signbit(rounded(-0.0F, type)));
  EXPECT_TRUE(std::signbit(rounded(-1e-30F, type)));
  EXPECT_TRUE(std::isnan(rounded(kNan, type)));
}

TEST(ElementType, EveryNeighbourOfF8) {
  const std::vector<float> e4m3 = values_of(4, 3, 448), e5m2 = values_of(5, 2, 57344);
  EXPECT_EQ(e4m3.size(), 127U);  // the last code is NaN
  EXPECT_EQ(e5m2.size(), 124U);  // four are infinity and NaN
  check_neighbours(ElementType::f8e4m3, e4m3);
  check_neighbours(ElementType::f8e5m2, e5m2);
}

TEST(ElementType, EveryNeighbourOfF16) {
  const std::vector<float> f16 = values_of(5, 10, 65504);
  EXPECT_EQ(f16.size(), 0x7C00U);
  check_neighbours(ElementType::f16, f16);
}

TEST(ElementType, BeyondTheLargest) {
  EXPECT_EQ(rounded(65519.99F, ElementType::f16), 65504);
  EXPECT_EQ(rounded(65520, ElementType::f16), kInf);
  EXPECT_EQ(rounded(-65520, ElementType::f16), -kInf);
  EXPECT_EQ(rounded(0x1.FEp127F, ElementType::bf16), 0x1.FEp127F);
  EXPECT_EQ(rounded(0x1.FEFFFEp127F, ElementType::bf16), 0x1.FEp127F);
  EXPECT_EQ(rounded(0x1.FFp127F, ElementType::bf16), kInf);
  EXPECT_EQ(rounded(61439, ElementType::f8e5m2), 57344);
  EXPECT_EQ(rounded(61440, ElementType::f8e5m2), kInf);
  EXPECT_EQ(rounded(40000, ElementType::i16), 32767);
  EXPECT_EQ(rounded(-1, ElementType::u16), 0);
  for (const float large : {464.0F, 465.0F, 480.0F, 1e30F, kInf}) {
    EXPECT_EQ(rounded(large, ElementType::f8e4m3), 448);
    EXPECT_EQ(rounded(-large, ElementType::f8e4m3), -448);
  }
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f8e5m2}) {
    EXPECT_EQ(rounded(kInf, type), kInf);
    EXPECT_EQ(rounded(-kInf, type), -kInf);
  }
}

TEST(ElementType, Bf16KeepsSubnormals) {
  const float least = 0x1p-133F;
  EXPECT_EQ(rounded(least, ElementType::bf16), least);
  EXPECT_EQ(rounded(least / 2, ElementType::bf16), 0);
  EXPECT_EQ(rounded(0x1.8p-133F, ElementType::bf16), 2 * least);
  EXPECT_EQ(rounded(0x1.01p0F, ElementType::bf16), 1);  // a tie, to even
  EXPECT_EQ(rounded(0x1.03p0F, ElementType::bf16), 0x1.04p0F);
  EXPECT_EQ(rounded(0x1.FFp0F, ElementType::bf16), 2);  // into the next exponent
  EXPECT_EQ(rounded(0x1.FFp-127F, ElementType::bf16), 0x1p-126F);
}

TEST(ElementType, IntegersSaturate) {
  EXPECT_EQ(rounded(2.5F, ElementType::i8), 2);
  EXPECT_EQ(rounded(3.5F, ElementType::i8), 4);
  EXPECT_EQ(rounded(-2.5F, ElementType::i8), -2);
  EXPECT_FALSE(std::signbit(rounded(-0.25F, ElementType::i8)));
  EXPECT_EQ(rounded(200, ElementType::i8), 127);
  EXPECT_EQ(rounded(-kInf, ElementType::i8), -128);
  EXPECT_EQ(rounded(-1, ElementType::u8), 0);
  EXPECT_EQ(rounded(255.5F, ElementType::u8), 255);
  EXPECT_EQ(rounded(kNan, ElementType::u8), 0);
  EXPECT_EQ(rounded(kInf, ElementType::i32), 2147483520.0F);
  EXPECT_EQ(rounded(-kInf, ElementType::i32), -2147483648.0F);
  EXPECT_EQ(rounded(0.25F, ElementType::boolean), 1);
  EXPECT_EQ(rounded(-0.0F, ElementType::boolean), 0);
  EXPECT_EQ(rounded(kNan, ElementType::boolean), 1);
}

TEST(ElementType, WideTypesLeaveValuesAlone) {
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    EXPECT_TRUE(holds_f32(type));
    EXPECT_EQ(rounded(0x1.234566p-3F, type), 0x1.234566p-3F);
  }
  EXPECT_TRUE(holds(ElementType::f16, -kInf));
  EXPECT_FALSE(holds(ElementType::f8e4m3, -kInf));
  EXPECT_FALSE(holds(ElementType::i8, kNan));
  EXPECT_TRUE(holds(ElementType::f16, kNan));
}

/// Whatever is known of a value holds of it and of what the type makes of it.
TEST(ElementType, HeldFactsAreTrue) {
  const std::vector<float> values = {0,   -0.0F, 1e-45F, -1e-9F, 0.25F, -0.5F,  1,    3.5F,  -77,
                                     300, 460,   -1e5F,  65520,  3e38F, -3e38F, kInf, -kInf, kNan};
  for (int t = 0; t <= static_cast<int>(ElementType::u16); ++t) {
    const auto type = static_cast<ElementType>(t);
    for (const float a : values) {
      for (const float b : values) {
        const Facts known = held_facts(both(facts_of_constant(a), facts_of_constant(b)), type);
        for (const float v : {a, b}) {
          EXPECT_TRUE(satisfies(v, known)) << element_name(type) << " of " << a << ", " << b;
          EXPECT_TRUE(satisfies(rounded(v, type), known))
              << element_name(type) << " of " << a << ", " << b;
        }
      }
    }
  }
}

TEST(ElementType, LoadRoundsButKeepsEntries) {
  const Source source = parse_source("values(0, 1e-9, 1.004, 3)");
  const Storage storage = load(source, std::vector<int64_t>{4}, parse_format("compressed"), 0,
                               {.element = ElementType::f16});
  EXPECT_EQ(storage.levels[0].crd, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(storage.values.to_vector(), (std::vector<float>{0, 0x1.01p0F, 3}));
}

}  // namespace
}  // namespace fuseflow
