// What was meant by a name that is not known.
#include <gtest/gtest.h>

#include <array>

#include "support/source_lines.h"
#include "support/suggest.h"

namespace fuseflow {
namespace {

TEST(Suggest, CaseThenOtherLanguagesThenWordsThenLetters) {
  const std::vector<std::string> known = {"relu", "log", "lt", "max-orders", "dram.latency_cycles"};
  constexpr std::array<Foreign, 2> kForeign = {{{"ln", "log"}, {"sparse", "compressed"}}};
  EXPECT_EQ(meant_name("ReLU", known, kForeign), "relu");
  EXPECT_EQ(meant_name("LN", known, kForeign), "log");  // not `lt`, which is nearer
  EXPECT_EQ(meant_name("sparse", known, kForeign), "compressed");
  EXPECT_EQ(meant_name("orders", known), "max-orders");
  EXPECT_EQ(meant_name("latency_cycles", known), "dram.latency_cycles");
  EXPECT_EQ(meant_name("rellu", known), "relu");
  EXPECT_EQ(meant_name("nothing", known), "");
  EXPECT_EQ(did_you_mean("rellu", known), "; did you mean 'relu'?");
  EXPECT_EQ(did_you_mean("nothing", known), "");
}

TEST(SourceLines, OfATextThatWasKept) {
  keep_text({"kept.ff", "one\ntwo\r\nthree"});
  EXPECT_EQ(kept_line({"kept.ff", 2, 1}), "two");
  EXPECT_EQ(kept_line({"kept.ff", 3, 1}), "three");
  EXPECT_EQ(kept_line({"kept.ff", 4, 1}), "");
  EXPECT_EQ(kept_line({"kept.ff", 0, 0}), "");
  EXPECT_EQ(kept_line({"other.ff", 1, 1}), "");
}

}  // namespace
}  // namespace fuseflow
