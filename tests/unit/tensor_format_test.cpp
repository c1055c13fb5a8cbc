// Formats and element types as text.
#include "tensor/format.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;

TEST(TensorFormat, TextRoundTrips) {
  for (const char* text :
       {"scalar", "dense", "compressed", "bitvector", "dense,compressed", "dense,compressed@1,0",
        "compressed,singleton", "compressed,singleton@1,0", "dense,compressed,singleton@2,0,1",
        "dense,bitvector[16x16]", "dense,compressed@1,0[4x8]"}) {
    EXPECT_EQ(to_string(parse_format(text)), text);
  }
}

TEST(TensorFormat, CanonicalTextDropsBlanksAndIdentityOrder) {
  EXPECT_EQ(to_string(parse_format(" dense , compressed @ 0 , 1 ")), "dense,compressed");
  EXPECT_EQ(parse_format("dense,compressed@0,1"), parse_format("dense,compressed"));
  EXPECT_EQ(dense_format(2), parse_format("dense,dense"));
  EXPECT_EQ(sparse_format(3), parse_format("dense,compressed,compressed"));
  EXPECT_EQ(sparse_format(1), parse_format("compressed"));
  EXPECT_EQ(sparse_format(0), parse_format("scalar"));
}

TEST(TensorFormat, RejectsWithASuggestion) {
  const auto fault = [](const char* text) { return error_of([&] { parse_format(text); }); };
  expect_contains(fault("dense,compresed"), "did you mean 'compressed'?");
  expect_contains(fault("dense,xyzzyq"), "expected one of dense, compressed, singleton, bitvector");
  expect_contains(fault(""), "unknown level ''");
  expect_contains(fault("dense,"), "unknown level ''");
  expect_contains(fault("dense,dense@0"), "not a permutation");
  expect_contains(fault("dense,dense@0,0"), "not a permutation");
  expect_contains(fault("dense,dense@0,2"), "not a permutation");
  expect_contains(fault("dense,dense@0,99999999999999999999"), "expected a number");
  expect_contains(fault("dense,dense@0,-1"), "expected a number");
  expect_contains(fault("dense,singleton"), "must follow a compressed or singleton");
  expect_contains(fault("singleton"), "must follow a compressed or singleton");
  expect_contains(fault("dense,dense[16]"), "1 block extents for 2 dimensions");
  expect_contains(fault("dense,dense[16x0]"), "block extents");
  expect_contains(fault("dense,dense[1048576x1048576]"), "at most 1048576 values");
  expect_contains(fault("dense]"), "']' without '['");
  EXPECT_EQ(fault("dense,dense").substr(0, 8), "no error");
  EXPECT_EQ(fault("compresed").substr(0, 2), "1 ");
}

TEST(TensorFormat, RankIsChecked) {
  expect_contains(error_of([] { check_format(parse_format("dense,dense"), 3); }), "3 dimensions");
  EXPECT_NO_THROW(check_format(Format{}, 0));
}

}  // namespace
}  // namespace fuseflow
