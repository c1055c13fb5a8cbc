// The files that a tool was asked to write.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

/// A file to be written, and the option that names it: "--nodes". An empty path is none.
struct NamedOutput {
  std::string option;
  std::string path;
  bool appended = false;  ///< opened where it is; others as write_output() writes them
};

/// For use before long work, whose result would be lost. Throws Error(usage) if two of them are one
/// file, of which only what is written last would be left (standard output, devices and pipes hold
/// whatever is written to them, in turn), and Error(io) if writing one is sure to fail: it is a
/// folder, its folder is not there, permission lacks. Creates and changes nothing.
void check_outputs(const std::vector<NamedOutput>& outputs);

/// Throws Error(usage) if one of them, none of which is a program, is the program that is read.
void keep_input(const std::vector<NamedOutput>& outputs, const std::string& input);

}  // namespace fuseflow
