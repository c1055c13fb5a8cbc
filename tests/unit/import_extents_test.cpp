// Extents of data that do not say them.
#include <gtest/gtest.h>

#include <filesystem>

#include "import_program.h"

namespace fuseflow {
namespace {

class Extents : public ::testing::Test {
 protected:
  Extents()
      : folder_(std::filesystem::temp_directory_path() / ("extents_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Extents() override { std::filesystem::remove_all(folder_); }

  /// y = a x, of which a is a .tns whose last rows and columns are empty: 3 x 4 by its entries.
  Program product(const std::string& inputs, const std::map<std::string, int64_t>& dims) {
    ImportOptions options;
    options.bindings["a"] = file("a.tns", "1 3 2\n2 4 3\n3 3 4\n");
    options.bindings["x"] =
        file("x.mtx", "%%MatrixMarket matrix array real general\n5 1\n1\n2\n3\n4\n5\n");
    options.dims = dims;
    return import_by_file(model_of("(" + inputs + ") => (float[n, 1] y) { y = MatMul(a, x) }"),
                          options);
  }
  Source file(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    write_output(path, text);
    return parse_binding(path);
  }

  std::filesystem::path folder_;
};

TEST_F(Extents, ATnsTakesThemFromTheModelFromDimAndFromOtherInputs) {
  const std::vector<float> expected = {6, 12, 12, 0, 0, 0};
  EXPECT_EQ(result_of(product("float[6, 5] a, float[5, 1] x", {})), expected);
  EXPECT_EQ(result_of(product("float[n, m] a, float[m, 1] x", {{"n", 6}})), expected);
  EXPECT_EQ(result_of(product("float[n, m] a, float[m, 1] x", {})),
            (std::vector<float>{6, 12, 12}));
}

TEST_F(Extents, EntriesBeyondThemAreRefused) {
  try {
    product("float[n, m] a, float[m, 1] x", {{"n", 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics()[0].where.line, 3);
    EXPECT_STREQ(error.what(), "coordinate 3 is out of range, expected 1 to 2");
  }
}

}  // namespace
}  // namespace fuseflow
