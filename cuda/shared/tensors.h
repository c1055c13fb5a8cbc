// What a generated kernel says of the tensors that it is given.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ff {

/// Elements in memory. Whole numbers are read alone, as f32; u8 is also what booleans are.
enum class Type : int { f16, bf16, f32, u8, i8, i32, i64, f8e4m3, f8e5m2 };

FF_FN constexpr bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16;
}
FF_FN constexpr bool is_quarter(Type type) {
  return type == Type::f8e4m3 || type == Type::f8e5m2;
}
/// Is what is stored rounded, and not a whole number?
FF_FN constexpr bool is_rounded(Type type) {
  return is_half(type) || is_quarter(type);
}
FF_FN constexpr int bytes_of(Type type) {
  return is_half(type)                                              ? 2
         : is_quarter(type) || type == Type::u8 || type == Type::i8 ? 1
         : type == Type::f32 || type == Type::i32                   ? 4
                                                                    : 8;
}

/// A tensor in row-major order.
struct Tensor {
  const char* name;
  Type type;
  long elements;
  bool result;
  int number;  ///< in the program: what one kernel gives, later ones read
};

/// A tensor as the copy engine sees it: batches of matrices whose inner coordinates are
/// consecutive. Pitches are in elements. What is outside is read as 0.
struct View {
  int tensor;
  long outer, inner, batches;
  long pitch, batch_pitch;
  int box_outer, box_inner;
  int tile_outer;  ///< of the box: what a tile has, beside what fills its product
  int tile_inner;  ///< .. of all boxes beside each other
};

/// By how much rounding to the coarsest type of a kernel's tensors changes a number at most,
/// relative to it; at least what f16 does, and tf32, as which f32 is multiplied. Bounds on errors
/// are multiples of it.
inline double roundoff(const Tensor* tensors, size_t count) {
  double most = 1.0 / 2048;
  for (size_t t = 0; t < count; ++t) {
    const Type type = tensors[t].type;
    const double here = type == Type::f8e5m2   ? 1.0 / 8
                        : type == Type::f8e4m3 ? 1.0 / 16
                        : type == Type::bf16   ? 1.0 / 256
                                               : most;
    most = here > most ? here : most;
  }
  return most;
}

/// Are both NaN, or the same infinity? No difference says that these are right.
inline bool is_same_beyond(float got, float expected) {
  return std::isnan(expected) ? std::isnan(got) : std::isinf(expected) && got == expected;
}

/// What a program's option says; ends the program with status 2 for another text than a number of
/// at least 0.
inline long whole_number(const char* option, const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end != text && *end == 0 && number >= 0) return number;
  std::fprintf(stderr, "%s %s: expected a whole number, 0 or more\n", option, text);
  std::exit(2);
}

/// The entry of a table of plans that takes so many rows: the first that takes as many. `most`: the
/// rows that each takes up to, growing.
inline size_t entry_for(const std::vector<long>& most, long rows) {
  for (size_t i = 0; i < most.size(); ++i) {
    if (rows >= 1 && rows <= most[i]) return i;
  }
  std::fprintf(stderr, "the table has no plan for %ld rows, expected 1 to %ld\n", rows,
               most.empty() ? 0 : most.back());
  std::exit(3);
}

/// What has to be there to launch a kernel.
struct Launch {
  int clusters, cores;  ///< .. of a cluster
  int scratchpad;       ///< bytes of a core
  int groups;           ///< of 128 threads that multiply
  long sums;            ///< elements of f32 that are 0 before the first launch
  int counters;         ///< of 4 bytes, 0 before the first launch
};

}  // namespace ff
