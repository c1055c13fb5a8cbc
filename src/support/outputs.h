// The files that a tool was asked to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

/// A file to be written, and the option that names it: "--nodes". An empty path is none.
struct NamedOutput {
  std::string option;
  std::string path;
  /// Not empty: the file may be there and begin so, and is appended to by the one who knows it;
  /// others are written by write_output().
  std::string_view appended_to = {};
};

/// For use before anything is read and before long work, whose result would be lost. Throws
/// Error(usage) if two of them are one file, of which only what is written last would be left
/// (standard output, devices and pipes hold whatever is written to them, in turn), or one is a file
/// that the tool reads, be it before or after this call (support/inputs.h); Error(rejected) for a
/// file that is not of the kind that is appended to; and Error(io) if writing one is sure to fail:
/// it is a folder, its folder is not there, permission lacks. Creates and changes nothing.
void check_outputs(const std::vector<NamedOutput>& outputs);

}  // namespace fuseflow
