// What the tools that read a program share.
#pragma once

#include "ir/files.h"
#include "shell/tool.h"

namespace fuseflow {

/// The input of a filter. To be called when all options have been found right.
inline Program read_program(const FilterOptions& filter) {
  return read_program(filter.input, filter.directory);
}

}  // namespace fuseflow
