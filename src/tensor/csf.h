// Tensors as text files of their levels, as the simulators SAM and Comal keep them: one file a
// column of numbers. For the tensor NAME in a folder:
//   tensor_NAME_mode_shape          the extent of each dimension
//   tensor_NAME_mode_D_seg, _crd    positions and coordinates of the level of dimension D; a dense
//                                   level has neither
//   tensor_NAME_mode_vals           the values
// The first of them stands for the tensor: file("data/tensor_B_mode_shape"). The files do not say
// in which order the levels nest; where it is not that of the dimensions the source does:
// file("data/tensor_B_mode_shape", levels=[1,0]).
#pragma once

#include <string>
#include <vector>

#include "tensor/storage.h"

namespace fuseflow {

/// The file of a folder that stands for tensor `name`. Throws Error(rejected) for a name that could
/// lead out of the folder.
std::string csf_path(const std::string& folder, const std::string& name);

/// Whether a path is one that csf_path() makes.
bool is_csf_path(const std::string& path);

/// All names that files of the tensor may have, there or not.
std::vector<std::string> csf_files(const std::string& path);

/// Whether the level of dimension `dimension` has files of its own: it is compressed.
bool csf_level_is_stored(const std::string& path, int dimension);

/// The extents of the tensor's dimensions.
std::vector<int64_t> read_csf_shape(const std::string& path);

/// Writes the files of a tensor whose levels are dense or compressed, and removes those that an
/// earlier tensor of that name left: they would make a dense level a compressed one. Throws
/// Error(rejected) for other levels and for blocks, Error(io).
void write_csf(const std::string& path, const Storage& storage);

}  // namespace fuseflow
