// Readers of the text formats for sparse tensors: Matrix Market (.mtx), FROSTT (.tns) and DLMC
// (.smtx). Each maps the file, parses it once and checks every claim of its header against what
// follows. All throw Error(rejected) with file, line and column, or Error(io).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/source.h"

namespace fuseflow {

/// Matrix Market: coordinate or array; real, integer or pattern (values 1); general, symmetric or
/// skew-symmetric (expanded here). Complex and Hermitian files are rejected. The array form gives
/// a dense tensor, the coordinate form a sparse one with explicit zeros kept.
RawTensor read_mtx(const std::string& path);

/// FROSTT: one line an entry, coordinates from 1 and a value; # starts a comment. The shape is the
/// given one (-1: unknown extent), else the largest coordinates.
RawTensor read_tns(const std::string& path, const std::optional<std::vector<int64_t>>& shape);

/// DLMC: "rows, columns, entries", then row offsets and column indices from 0; values are 1.
RawTensor read_smtx(const std::string& path);

}  // namespace fuseflow
