// Writers of tensor files: .npy (f32, C order), .mtx (coordinate) and .tns. The bytes depend on the
// values only, not on the storage format; entries come in row-major order.
#pragma once

#include <string>

#include "tensor/storage.h"

namespace fuseflow {

/// Matrix Market coordinate text, real general, or pattern general when `pattern` (all values must
/// be 1 then). Throws Error(rejected) unless the tensor is a matrix with fill 0.
std::string mtx_text(const Storage& storage, bool pattern = false);

/// FROSTT text. Throws Error(rejected) for a rank of 0 or a fill other than 0.
std::string tns_text(const Storage& storage);

/// Whether write_tensor() knows the extension of `path`.
bool is_written_kind(const std::string& path);

/// Throws what write_tensor() throws of a tensor of this rank and fill, before there is one.
void require_writable_as(const std::string& path, size_t rank, float fill);

/// Writes by the extension of `path`: .npy (all elements), .mtx or .tns (the entries). Throws
/// Error(rejected) for another extension or a tensor that the format cannot hold, Error(io).
void write_tensor(const std::string& path, const Storage& storage);

}  // namespace fuseflow
