// A reduction inside of a statement split off as a tensor of its own.
#include "ir/named_reduction.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace fuseflow {
namespace {

/// The text of the program after its first statement was split at its first reduction.
std::string split(const std::string& tensors, const std::string& statement) {
  Program program =
      parse_program({"test", "fuseflow 1\n" + tensors + "region @y {\n  " + statement + "\n}\n"});
  const Statement& whole = program.regions[0].statements[0];
  int32_t node = 0;
  while (whole.nodes[static_cast<size_t>(node)].kind != Expr::Kind::reduce) ++node;
  name_reduction(program, 0, 0, node);
  verify(program);
  const std::string text = print_program(program);
  return text.substr(text.find("temp"));
}

TEST(NamedReduction, ItsFreeIndicesBecomeDimensions) {
  EXPECT_EQ(split("input %a: f32[3, 4] dense,compressed\nresult %y: f32[4, 3] dense,dense\n",
                  "%y[j, i] = %a[i, j] / sum(k) %a[i, k]"),
            "temp %y.1: f32[3] dense\n\nregion @y {\n  %y.1[i] = sum(k) %a[i, k]\n"
            "  %y[j, i] = %a[i, j] / %y.1[i]\n}\n");
}

TEST(NamedReduction, WithoutFreeIndicesItIsANumber) {
  EXPECT_EQ(split("input %a: f32[3] dense\nresult %y: f32[3] dense\n",
                  "%y[i] = coordinate(i) * (sum(j) coordinate(j) * %a[j])"),
            "temp %y.1: f32[] scalar\n\nregion @y {\n  %y.1 = sum(j) coordinate(j) * %a[j]\n"
            "  %y[i] = coordinate(i) * %y.1\n}\n");
}

TEST(NamedReduction, StatedExtentsStay) {
  EXPECT_EQ(split("input %a: f32[4] dense\nresult %y: f32[4] dense\n",
                  "%y[i] = %a[i] + max(k:3) %a[i + k - 1]"),
            "temp %y.1: f32[4] dense\n\nregion @y {\n  %y.1[i] = max(k:3) %a[i + k - 1]\n"
            "  %y[i] = %a[i] + %y.1[i]\n}\n");
}

}  // namespace
}  // namespace fuseflow
