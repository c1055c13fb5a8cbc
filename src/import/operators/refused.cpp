// Operators of ONNX that are refused, each with its reason.
#include <algorithm>

#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr std::string_view kRandom = "its result is random, and so cannot be checked";
constexpr std::string_view kStrings = "tensors of strings are not supported";

constexpr RefusedRow kRefused[] = {
    {"Bernoulli", kRandom},
    {"DeformConv", "its windows are moved by values"},
    {"ImageDecoder", "it decodes files of images"},
    {"MaxRoiPool", "its windows depend on values; use RoiAlign"},
    {"Multinomial", kRandom},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"RegexFullMatch", kStrings},
    {"StringConcat", kStrings},
    {"StringNormalizer", kStrings},
    {"StringSplit", kStrings},
};

}  // namespace

std::span<const RefusedRow> refused_operators() {
  return kRefused;
}

std::string_view refusal_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kRefused), std::end(kRefused),
                                   [&](const RefusedRow& row) { return row.name == name; });
  return found == std::end(kRefused) ? std::string_view() : found->why;
}

}  // namespace fuseflow
