// Where the tree is that the tests are built from: for what they read of testdata and ir-spec.
#pragma once

#include <string>

namespace fuseflow {

/// The absolute path of the tree, without a slash at its end.
std::string source_dir();

}  // namespace fuseflow
