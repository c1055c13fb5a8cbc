// Outputs on file systems that fail late, and outputs that would replace inputs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/error.h"
#include "support/inputs.h"
#include "support/io.h"
#include "support/outputs.h"

namespace {

/// close() fails for files that were opened to be written, as over a network whose disk is full.
bool close_fails = false;

}  // namespace

/// Takes the place of the C library's in this program.
extern "C" int close(int descriptor) {
  const bool fails = close_fails && (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY;
  const long closed = ::syscall(SYS_close, descriptor);
  if (!fails) return static_cast<int>(closed);
  errno = EDQUOT;
  return -1;
}

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  OutputFile()
      : folder_(fs::path(::testing::TempDir()) / ("output_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~OutputFile() override {
    close_fails = false;
    fs::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(OutputFile, WhatCloseLosesDoesNotReplaceWhatIsThere) {
  write_output(path("a"), "old");
  close_fails = true;
  EXPECT_THROW(write_output(path("a"), "new, and longer"), Error);
  close_fails = false;
  EXPECT_EQ(read_source(path("a")).text, "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, PermissionsStay) {
  write_output(path("a"), "old");
  ::chmod(path("a").c_str(), 0640);
  write_output(path("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(OutputFile, ALinkThatLeadsNowhereGetsItsFile) {
  fs::create_symlink("b", path("a"));
  write_output(path("a"), "text");
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(path("a"))));
  EXPECT_EQ(read_source(path("b")).text, "text");
}

TEST_F(OutputFile, InputsAreNotReplacedWhicheverIsKnownFirst) {
  for (const char* name : {"read", "declared", "named", "free"}) write_output(path(name), name);
  fs::create_symlink("read", path("link"));
  keep_inputs();
  read_source(path("read"));
  EXPECT_THROW(check_outputs({{"-o", path("link")}}), Error);
  EXPECT_THROW(write_output(path("read"), "new"), Error);
  check_outputs({{"-o", path("declared")}});
  EXPECT_THROW(read_source(path("declared")), Error);
  note_input(path("named"));
  EXPECT_THROW(write_output(path("named"), "new"), Error);
  write_output(path("free"), "new");
  EXPECT_EQ(read_source(path("free")).text, "new");
  for (const char* name : {"read", "declared", "named"}) {
    std::ifstream file(path(name));
    std::string text;
    file >> text;
    EXPECT_EQ(text, name);
  }
  forget_inputs();
}

}  // namespace
}  // namespace fuseflow
