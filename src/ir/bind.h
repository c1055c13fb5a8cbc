// Data and extents that a program gets from outside of its text: sources of inputs by name, and
// symbolic extents (`dim N = ?`) from options or from the shapes of the data.
#pragma once

#include <map>
#include <string>

#include "ir/program.h"

namespace fuseflow {

/// By name: what `--bind` and `--dim` say. Paths start at the current folder.
struct Bindings {
  std::map<std::string, Source> sources;
  std::map<std::string, int64_t> extents;
};

/// Gives inputs and constants (and their copies) these sources, and symbolic extents their values.
/// Then every symbolic extent of a tensor with data takes the value that the data have. Files that
/// the bindings name are read in any case, and refused where they do not fit; files of the
/// program's own that cannot be read are left to the code that needs their elements. Throws
/// Error(usage) for names that the program does not have, Error(rejected) where data disagree with
/// the program, among themselves, or with facts that the program states of a tensor.
void bind(Program& program, const Bindings& bindings);

}  // namespace fuseflow
