// What `derived=` of an onnx source holds (source.h), and the paths that a source names, there too.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/source.h"

namespace fuseflow {

/// A line of `derived=`, e.g. "bind x=file(\"x.npy\")": an option of the import that is done again
/// to derive the constant. Kinds: dim, format, bind (its value is a source), shape.
struct DerivedOption {
  std::string kind;
  std::string name;
  std::string value;
};

/// Throws Error(rejected) for a line that is none.
std::vector<DerivedOption> parse_derived(std::string_view text);
std::string print_derived(const std::vector<DerivedOption>& options);

/// Replaces every path that the source names: its own, and those of sources that its constant is
/// derived from.
void replace_paths(Source& source, const std::function<std::string(const std::string&)>& replace);

}  // namespace fuseflow
