// When one cost replaces another.
#include <gtest/gtest.h>

#include <limits>

#include "passes/choose.h"

namespace fuseflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(Better, FewerCyclesOrAsManyAndFewerBytes) {
  EXPECT_TRUE(better(Cost{90, 500, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_TRUE(better(Cost{100, 50, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{100, 100, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{101, 50, "", 0}, Cost{100, 100, "", 0}));
}

TEST(Better, WhatDoesNotFitOrIsNotKnownReplacesNothing) {
  EXPECT_FALSE(better(Cost{kNever, 1, "", 0}, Cost{kNever, 100, "", 0}));
  EXPECT_FALSE(better(std::nullopt, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{100, 100, "", 0}, std::nullopt));
  EXPECT_TRUE(better(Cost{100, 100, "", 0}, Cost{kNever, 1, "", 0}));
}

}  // namespace
}  // namespace fuseflow
