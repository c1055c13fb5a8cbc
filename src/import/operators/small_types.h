// Element types that the language stores in a wider one: the codes that ONNX has for them, and how
// a number becomes one of their values.
#pragma once

#include <optional>

#include "import/importer.h"
#include "import/values/integers.h"

namespace fuseflow {

// ONNX's numbers of element types.
inline constexpr int kOnnxUint32 = 12, kOnnxUint64 = 13;
inline constexpr int kOnnxFloat8E4M3FNUZ = 18, kOnnxFloat8E5M2FNUZ = 20;
inline constexpr int kOnnxUint4 = 21, kOnnxInt4 = 22, kOnnxFloat4E2M1 = 23;
inline constexpr int kOnnxFloat8E8M0 = 24, kOnnxUint2 = 25, kOnnxInt2 = 26;

/// Unsigned types of 32 and 64 bits.
inline bool is_unsigned_word(int64_t code) {
  return code == kOnnxUint32 || code == kOnnxUint64;
}

/// What View::code is for an ONNX type: 0 where the language has the type itself.
int stored_code(int64_t code);

/// The integers of an ONNX type, which may have less bits than the type that stores them here.
std::optional<Integers> integers_of_code(int64_t code, ElementType type);

/// Results of a node that have an unsigned type of 32 or 64 bits, which i64 stores: constants of
/// u32 keep the lowest bits, as in ONNX; one of u64 that wraps to 2^63 or more is refused.
void hold_unsigned(NodeImport& node);

/// Floating-point types of 8 bits and less.
bool is_small_float(ElementType type, int code);

/// x as a value of such a type; beyond the largest one that one (saturates), or else infinity or
/// NaN, whichever the type has. Rejects the node for f8e8m0.
View rounded_to_small(NodeImport& node, const View& x, ElementType type, int code, bool saturates);

}  // namespace fuseflow
