// Text files of levels: what is read, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/error.h"
#include "tensor/csf.h"
#include "tensor/source.h"

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

/// A folder of files that goes with the test.
class Csf : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("fuseflow_csf_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    file("shape", "3\n4\n");
    file("0_seg", "0\n2\n");
    file("0_crd", "0\n2\n");
    file("1_seg", "0\n2\n3\n");
    file("1_crd", "1\n3\n0\n");
    file("vals", "1.5\n0\n-2\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void file(const std::string& what, const std::string& text) const {
    std::ofstream(folder_ / ("tensor_B_mode_" + what)) << text;
  }
  std::string path() const { return csf_path(folder_.string(), "B"); }
  Storage load_as(const std::string& format) const {
    Source source;
    source.kind = Source::Kind::file;
    source.path = path();
    return load(source, std::nullopt, parse_format(format));
  }
  std::string fault() const {
    try {
      load_as("compressed,compressed");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(Csf, ReadsLevelsAndKeepsStoredZeros) {
  const Storage storage = load_as("compressed,compressed");
  EXPECT_EQ(storage.shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(storage.values.to_vector(), (std::vector<float>{1.5, 0, -2}));
  EXPECT_EQ(storage.levels[1].crd, (std::vector<uint32_t>{1, 3, 0}));
}

TEST_F(Csf, WritesWhatItReads) {
  const Storage storage = load_as("dense,compressed");
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  write_csf(path(), storage);
  EXPECT_FALSE(csf_level_is_stored(path(), 0));
  const Storage again = load_as("dense,compressed");
  EXPECT_EQ(again.levels[1].pos, storage.levels[1].pos);
  EXPECT_EQ(again.levels[1].crd, storage.levels[1].crd);
  EXPECT_EQ(again.values.to_vector(), storage.values.to_vector());
}

TEST_F(Csf, RefusesSizesThatLie) {
  file("vals", "1\n");
  EXPECT_NE(fault().find("1 values, expected 3"), std::string::npos) << fault();
  file("1_seg", "0\n2\n");
  EXPECT_NE(fault().find("2 positions, expected 3"), std::string::npos) << fault();
  file("1_seg", "0\n2\n4\n");
  EXPECT_NE(fault().find("position 4 is out of range"), std::string::npos) << fault();
  file("0_crd", "0\n3\n");
  EXPECT_NE(fault().find("coordinate 3 is out of range"), std::string::npos) << fault();
  file("shape", "4294967294\n4294967294\n");
  fs::remove(folder_ / "tensor_B_mode_0_seg");
  fs::remove(folder_ / "tensor_B_mode_1_seg");
  EXPECT_NE(fault().find("positions"), std::string::npos) << fault();
}

TEST_F(Csf, RefusesFibersThatEntriesCannotSay) {
  file("1_seg", "0\n0\n3\n");
  EXPECT_NE(fault().find("element 0 of compressed level 0 has no values below"), std::string::npos)
      << fault();
  file("1_seg", "0\n2\n3\n");
  file("1_crd", "3\n1\n0\n");
  EXPECT_NE(fault().find("ascending"), std::string::npos) << fault();
}

TEST_F(Csf, RefusesEntriesBeforeTheFirstFiber) {
  file("1_seg", "1\n2\n3\n");
  EXPECT_NE(fault().find("position 1 is out of range, expected 0 to 0"), std::string::npos)
      << fault();
}

TEST_F(Csf, NamesStayInTheirFolder) {
  EXPECT_THROW(csf_path("data", "../B"), Error);
  EXPECT_THROW(csf_path("data", ""), Error);
  EXPECT_THROW(csf_path("data", std::string("B\0", 2)), Error);
  EXPECT_EQ(csf_path("data", ".."), "data/tensor_.._mode_shape");
}

}  // namespace
}  // namespace fuseflow
