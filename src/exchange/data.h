// The data beside written graphs.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// A name with only the characters that a file's name may have.
std::string file_name(const std::string& name);

/// The names that tensors have in files: fit for them, and unique.
std::vector<std::string> file_names(const Program& program);

/// What write_data() may write.
std::vector<std::string> data_files(const Program& program,
                                    const std::vector<const Region*>& regions,
                                    const std::string& folder);

/// Writes what the regions' graphs read of inputs and constants to a folder, which is made
/// (tensor/csf.h).
void write_data(const Program& program, const std::vector<const Region*>& regions,
                const std::string& folder);

}  // namespace fuseflow
