// What MLIR's parser does not survive, found in the text before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace fuseflow {

/// Throws Error(rejected), with the place, for brackets or minus signs that are nested deeper than
/// the parser's recursion has stack for, and for resources whose alignment it cannot allocate.
void check_linalg_text(std::string_view text, const std::string& path);

}  // namespace fuseflow
