// Folders for the files that a tool writes.
#pragma once

#include <string>

namespace fuseflow {

/// Makes a folder, and those above it, where they are not there. Throws Error(io).
void make_folder(const std::string& path);

}  // namespace fuseflow
