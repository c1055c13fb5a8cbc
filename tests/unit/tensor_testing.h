// Shared by the tensor tests: temporary files, the message of an error, small random tensors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "support/defect.h"
#include "support/error.h"
#include "tensor/random.h"
#include "tensor/storage.h"

namespace fuseflow::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// A directory of its own that goes away with the test.
class TemporaryFiles {
 public:
  TemporaryFiles() {
    static int count = 0;
    directory_ = std::filesystem::temp_directory_path() /
                 ("fuseflow_tensor_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(directory_);
  }
  ~TemporaryFiles() { std::filesystem::remove_all(directory_); }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path directory_;
};

/// "code line:column message" of the Error that `action` throws, the text of a Defect; "no error"
/// without one.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    return std::to_string(static_cast<int>(error.code())) + " " + std::to_string(first.where.line) +
           ":" + std::to_string(first.where.column) + " " + first.message;
  } catch (const Defect& defect) {
    return defect.what();
  }
  return "no error";
}

/// The bytes of the values in memory.
template <typename T>
std::string packed(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' has no '" << part << "'";
}

/// Row-major elements, a share `density` of them whole numbers from 1 to 9, the others `fill`.
inline std::vector<float> random_elements(int64_t count, double density, float fill,
                                          uint64_t seed) {
  Random random(seed);
  std::vector<float> elements(static_cast<size_t>(count), fill);
  for (float& element : elements) {
    if (random.uniform() < density) element = static_cast<float>(1 + random.below(9));
  }
  return elements;
}

/// FNV-1a over the bytes of a vector: fixed checksums of generated data.
template <typename T>
uint64_t checksum(const std::vector<T>& values, uint64_t hash = UINT64_C(0xcbf29ce484222325)) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t k = 0; k < values.size() * sizeof(T); ++k) {
    hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

}  // namespace fuseflow::testing
