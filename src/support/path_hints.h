// What else to say of a path that cannot be opened.
#pragma once

#include <string>

namespace fuseflow {

/// Of this path, where it is not there. To be called before other threads read files.
void add_path_hint(const std::string& path, std::string hint);

}  // namespace fuseflow
