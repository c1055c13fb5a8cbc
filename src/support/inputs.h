// The files that a tool reads, none of which its outputs may replace.
//
// No tool lists what it reads, and none can forget what it writes: support/io.h notes each file
// that it opens to be read, ir/files.h each data file that a program names, check_outputs() each
// output that an option names, and write_output() asks here before it opens anything. Of an input
// and an output that are one file, whichever is noted second finds the other. Tools declare their
// outputs before they read, and write after they have read, so the refusal comes before the first
// byte is written and before long work. Files are compared by device and inode: another name, a
// link, or standard input makes no difference. What is no regular file is never replaced.
//
// run_tool() turns this on for a tool's run, unless --force was given. Elsewhere (tests) files may
// be read and written in turn.
#pragma once

#include <string>

namespace fuseflow {

/// From now on, for the rest of the process.
void keep_inputs();
/// Forgets all inputs and outputs that were declared: for tests.
void forget_inputs();

/// `descriptor` was opened, as `name`, to be read. Throws Error(usage) if a declared output is the
/// same file. May be called from any thread.
void note_input(int descriptor, const std::string& name);

/// Standard input is read. Throws Error(usage) if it is a declared output.
void note_standard_input();

/// A file is named as an input, read or not. Throws Error(usage) if it is a declared output. Does
/// nothing where no file is.
void note_input(const std::string& path);

/// `option` writes `path` ("-": standard output). Throws Error(usage) if that is an input so far.
void note_output(const std::string& option, const std::string& path);

/// Throws Error(usage) if `path`, which is about to be written, is an input.
void require_no_input(const std::string& path);

}  // namespace fuseflow
