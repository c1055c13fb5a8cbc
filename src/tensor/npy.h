// NumPy's .npy files: format versions 1 to 3, little-endian f2 f4 f8 i1 i2 i4 i8 u1 u2 bool, C and
// Fortran order. Hostile input: every field is checked, objects (pickles) are refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/source.h"

namespace fuseflow {

struct NpyHeader {
  ElementType element = ElementType::f32;  ///< integers of 16 bits: i32
  std::string descr = "<f4";               ///< as it is stored
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t data_offset = 0;  ///< bytes from the beginning of the file
};

/// Parses the header of `bytes`; `path` is for messages, which name the byte offset.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& path);

/// Bytes from the beginning of `bytes` to the array's data, of whatever element type.
size_t npy_data_offset(std::string_view bytes, const std::string& path);

/// The array in `bytes`, a whole file, in row-major order. Throws Error(rejected).
RawTensor parse_npy(std::string_view bytes, const std::string& path);

/// Reads a whole array into row-major order. Throws Error(rejected), or Error(io) if unreadable.
RawTensor read_npy(const std::string& path);

/// The bytes of an f32 C-order .npy file.
std::string npy_bytes(std::span<const float> values, std::span<const int64_t> shape);

}  // namespace fuseflow
