// What is read in which format, and how it could be read otherwise.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

/// A CSV with a row for every tensor in every format in which regions read it.
std::string storage_csv(const Program& program);

}  // namespace fuseflow
