#include <gtest/gtest.h>

#include <filesystem>

#include "support/error.h"
#include "support/io.h"

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

TEST(Output, ALinkStaysALink) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "fuseflow_output_link";
  fs::create_directories(folder);
  const std::string file = folder / "file", link = folder / "link";
  fs::remove(link);
  write_output(file, "old, and longer");
  fs::create_symlink(file, link);
  write_output(link, "new");
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(link)));
  EXPECT_EQ(read_source(file).text, "new");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace fuseflow
