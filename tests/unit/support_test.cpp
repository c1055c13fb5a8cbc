#include <gtest/gtest.h>

#include "support/error.h"

namespace fuseflow {
namespace {

TEST(Diagnostic, HasPlaceMessageSourceLineAndCaret) {
  const Diagnostic diagnostic{Severity::error, {"a.ff", 2, 3, 2}, "bad, expected good", "xxyyzz"};
  EXPECT_EQ(format(diagnostic), "a.ff:2:3: error: bad, expected good\nxxyyzz\n  ^~\n");
}

TEST(Diagnostic, ElidesLongLinesAroundTheCaret) {
  const Diagnostic diagnostic{Severity::error, {"a", 1, 500, 1}, "m", std::string(1000, 'x')};
  EXPECT_LT(format(diagnostic).size(), 400U);
}

TEST(NearestName, FindsTypingErrorsOnly) {
  EXPECT_EQ(nearest_name("dens", {"dense", "compressed"}), "dense");
  EXPECT_EQ(nearest_name("zebra", {"dense", "compressed"}), "");
}

}  // namespace
}  // namespace fuseflow
