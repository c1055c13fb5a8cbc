// Element types of 8 bits and less: the codes that ONNX has for those that the language stores in a
// wider one, and how a number becomes one of their values.
#pragma once

#include <optional>

#include "import/importer.h"
#include "import/values/integers.h"

namespace fuseflow {

// ONNX's numbers of element types.
inline constexpr int kOnnxUint32 = 12;
inline constexpr int kOnnxFloat8E4M3FNUZ = 18, kOnnxFloat8E5M2FNUZ = 20;
inline constexpr int kOnnxUint4 = 21, kOnnxInt4 = 22, kOnnxFloat4E2M1 = 23;
inline constexpr int kOnnxFloat8E8M0 = 24, kOnnxUint2 = 25, kOnnxInt2 = 26;

/// What View::code is for an ONNX type: 0 where the language has the type itself.
int stored_code(int64_t code);

/// The integers of an ONNX type, which may have less bits than the type that stores them here.
std::optional<Integers> integers_of_code(int64_t code, ElementType type);

/// Floating-point types of 8 bits and less.
bool is_small_float(ElementType type, int code);

/// x as a value of such a type; beyond the largest one that one (saturates), or else infinity or
/// NaN, whichever the type has. Rejects the node for f8e8m0.
View rounded_to_small(NodeImport& node, const View& x, ElementType type, int code, bool saturates);

}  // namespace fuseflow
