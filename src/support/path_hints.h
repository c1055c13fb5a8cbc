// What else to say of a path that cannot be opened.
#pragma once

#include <string>

namespace fuseflow {

/// Adds a hint to the error of this path when there is no such file. To be called before other
/// threads read files.
void add_path_hint(const std::string& path, std::string hint);

}  // namespace fuseflow
