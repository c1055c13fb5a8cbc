// What the tools that read a program share.
#pragma once

#include "bind_options.h"
#include "ir/files.h"
#include "shell/tool.h"

namespace fuseflow {

/// What every filter of programs has: its files, and data for the program's inputs.
struct ProgramOptions : FilterOptions {
  BindOptions bound;
};

inline void add_program_options(CommandLine& app, ProgramOptions& options) {
  add_filter_options(app, options);
  add_bind_options(app, options.bound);
}

/// The input of a filter. To be called when all options have been found right.
inline Program read_program(const ProgramOptions& filter) {
  return read_program(filter.input, filter.directory, bindings_of(filter.bound));
}

}  // namespace fuseflow
