// What kernels on the CPU make of a value (cuda/host/elements.h) is what the language makes of it.
#define FF_FN inline
#include "../../cuda/shared/tensors.h"

#include "../../cuda/host/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tensor/element_type.h"

namespace fuseflow {
namespace {

struct Types {
  ff::Type kernel;
  ElementType declared;
};
const std::vector<Types> kTypes{{ff::Type::f8e4m3, ElementType::f8e4m3},
                                {ff::Type::f8e5m2, ElementType::f8e5m2},
                                {ff::Type::f16, ElementType::f16},
                                {ff::Type::bf16, ElementType::bf16}};

void expect_same(const Types& types, float value) {
  const float kernel = ff::rounded_to(types.kernel, value),
              declared = rounded(value, types.declared);
  if (std::isnan(declared)) {
    EXPECT_TRUE(std::isnan(kernel)) << element_name(types.declared) << " of " << value;
    return;
  }
  EXPECT_EQ(std::bit_cast<uint32_t>(kernel), std::bit_cast<uint32_t>(declared))
      << element_name(types.declared) << " of " << value << ": " << kernel << ", " << declared;
}

TEST(KernelElements, AreRoundedAsTheLanguageRounds) {
  std::mt19937 random(1);
  for (const Types& types : kTypes) {
    for (const float x : {0.0F, -0.0F, std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(), 1e-45F, 3e38F})
      expect_same(types, x);
    for (int i = 0; i < 20000; ++i) expect_same(types, std::bit_cast<float>(uint32_t(random())));
  }
}

/// Every value of 8 bits, the middle of it and the next one, and what is beside that.
TEST(KernelElements, OfEightBitsAtEveryMiddle) {
  for (const Types& types : {kTypes[0], kTypes[1]}) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      const float value = ff::from_bits(types.kernel, static_cast<uint16_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(ff::to_bits(types.kernel, value), bits);
      EXPECT_TRUE(holds(types.declared, value)) << value;
      const float next = ff::from_bits(types.kernel, static_cast<uint16_t>((bits + 1) & 0xff));
      const float middle = std::isfinite(next) ? (value + next) / 2 : value * 1.0625F;
      for (const float x : {value, middle, std::nextafter(middle, 0.0F), middle * 1.0000002F})
        expect_same(types, x);
    }
  }
  EXPECT_EQ(ff::rounded_to(ff::Type::f8e4m3, 1e9F), 448);
  EXPECT_EQ(ff::rounded_to(ff::Type::f8e5m2, 61439), 57344);
  EXPECT_TRUE(std::isinf(ff::rounded_to(ff::Type::f8e5m2, 61440)));
}

/// Every value of f16, the middle of it and the next one, and what is beside that.
TEST(KernelElements, OfHalfTheBitsAtEveryMiddle) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = ff::from_bits(ff::Type::f16, static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(ff::to_bits(ff::Type::f16, value), bits);
    EXPECT_TRUE(holds(ElementType::f16, value)) << value;
    const float next = ff::from_bits(ff::Type::f16, static_cast<uint16_t>(bits + 1));
    const float middle = std::isfinite(next) ? (value + next) / 2 : value * 1.0004F;
    for (const float x : {middle, std::nextafter(middle, 0.0F), middle * 1.0000002F})
      expect_same(kTypes[2], x);
  }
}

}  // namespace
}  // namespace fuseflow
