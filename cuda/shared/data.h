// What programs that run kernels read, and how they judge results: one text for the CPU
// (host/run.h) and the GPU (gpu/run_all.h).
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fuseflow.h"

namespace ff {

/// The elements of a tensor, of FOLDER/NUMBER.f32 (fuseflow-cuda --data writes it; it may have more
/// rows). Nothing where there is no such file; ends the program with status 3 where it is too
/// short.
inline std::vector<float> read_data(const std::string& folder, const Tensor& tensor) {
  const std::string path = folder + "/" + std::to_string(tensor.number) + ".f32";
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::vector<float> all(static_cast<size_t>(tensor.elements));
  file.read(reinterpret_cast<char*>(all.data()), tensor.elements * 4);
  if (file) return all;
  std::fprintf(stderr, "%s: expected %ld elements (fuseflow-cuda --data writes them)\n",
               path.c_str(), tensor.elements);
  std::exit(3);
}
[[noreturn]] inline void no_data(const std::string& folder, const Tensor& tensor) {
  std::fprintf(stderr, "%s/%d.f32: no such file, expected %%%s (fuseflow-cuda --data writes it)\n",
               folder.c_str(), tensor.number, tensor.name);
  std::exit(3);
}

/// What results hold before a kernel runs: NaN that neither operators nor conversions make, so that
/// it is told by its bits where NaN is right.
inline float unwritten() {
  const unsigned bits = 0x7fc5a5a5;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline bool is_unwritten(float value) {
  const float none = unwritten();
  return std::memcmp(&value, &none, sizeof value) == 0;
}
/// The same as an element.
inline unsigned unwritten_bits(Type type) {
  return bytes_of(type) == 1 ? 0xff : bytes_of(type) == 2 ? 0x7fa5 : 0x7fc5a5a5;
}

/// The larger one; NaN is larger than everything.
inline double larger(double x, double y) {
  return y <= x || x != x ? x : y;
}

/// Of results: the largest of an element, and that in the square mean, relative to `of`. NaN where
/// something is a number on one side alone, or has not been written.
struct Difference {
  double largest = 0, relative = 0;
  void join(const Difference& other) {
    largest = larger(largest, other.largest);
    relative = larger(relative, other.relative);
  }
};
inline Difference difference(const std::vector<float>& got, const std::vector<float>& from,
                             const std::vector<float>& of) {
  Difference all;
  double square = 0, error = 0;
  for (size_t i = 0; i < of.size(); ++i) {
    if (is_same_beyond(got[i], from[i]) && !is_unwritten(got[i])) continue;
    const double here = std::fabs(static_cast<double>(got[i]) - from[i]);
    all.largest = larger(all.largest, here);
    error += here * here;
    square += static_cast<double>(of[i]) * of[i];
  }
  all.relative = square > 0 ? std::sqrt(error / square) : std::sqrt(error);
  return all;
}

}  // namespace ff
