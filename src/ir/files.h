// Programs as files. Relative data paths start at the folder of the program's file, so that a
// program and its data can be moved together; in memory they start at the current folder. Every
// tool reads and writes programs here, so that this is decided once (ir-spec/language.md, "Data
// files").
#pragma once

#include <string>

#include "ir/bind.h"
#include "ir/program.h"
#include "support/io.h"

namespace fuseflow {

/// Parses and verifies the program in the file `path` (standard input when "-"). Its relative data
/// paths start at `directory`, or, where that is empty, at the file's folder; at the current
/// folder on standard input and for what is no regular file (a pipe). Throws Error(rejected) for
/// the text, Error(io) for a file that cannot be read, and for data that would only be found from
/// the current folder. Then binds what `bindings` says, and extents that the data tell (ir/bind.h).
Program read_program(const std::string& path, const std::string& directory = "",
                     const Bindings& bindings = {});
/// The same of the text that was read from `path`.
Program read_program(const SourceText& source, const std::string& path,
                     const std::string& directory, const Bindings& bindings);

/// Writes the program to the file `path`, its relative data paths as seen from that file's
/// folder; to standard output when "-" (or no regular file): as seen from the current folder.
/// Absolute paths stay. Throws what write_output() throws. The data files that a program names,
/// read or written here, are inputs that no output may replace (support/inputs.h).
void write_program(const std::string& path, Program program);

}  // namespace fuseflow
