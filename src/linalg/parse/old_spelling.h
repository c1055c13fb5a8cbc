// Spellings of earlier MLIR, translated to those that its parser reads now.
#pragma once

#include <string>
#include <string_view>

namespace fuseflow {

/// Encodings by `lvlTypes` or `dimLevelType` become maps of levels, `tensor.expand_shape` without
/// output_shape gets that of its static result. Lines stay where they are.
std::string in_new_spelling(std::string_view text);

}  // namespace fuseflow
