// Readers of the formats for sparse tensors: Matrix Market (.mtx, .mtx.gz), FROSTT (.tns), DLMC
// (.smtx), archives of arrays (.npz) and text files of levels (csf.h). Each maps the file, parses
// it once and checks every claim of its header against what follows. All throw Error(rejected) with
// file, line and column, or Error(io).
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

/// A Matrix Market file that is compressed by gzip.
RawTensor read_mtx_gz(const std::string& path);

/// An archive of numpy.savez: the array `member` (without .npy), or its only one if that is empty.
/// An archive of scipy.sparse.save_npz (csr, csc or coo) is a sparse matrix.
RawTensor read_npz(const std::string& file, const std::string& member);

/// FROSTT: one line an entry, coordinates from 1 and a value; # starts a comment. The shape is the
/// given one (-1: unknown extent), else the largest coordinates.
RawTensor read_tns(const std::string& path, const std::optional<std::vector<int64_t>>& shape);

/// DLMC: "rows, columns, entries", then row offsets and column indices from 0; values are 1.
RawTensor read_smtx(const std::string& path);

/// Text files of levels, by the path that csf_path() makes. `levels`: the dimension of each level,
/// outermost first; empty: as the dimensions stand. All stored values are entries, zeros too; an
/// all-dense tensor whose levels are in the order of its dimensions is dense. An element of a
/// compressed level without values below it is rejected: entries could not say it.
RawTensor read_csf(const std::string& path, const std::vector<int64_t>& levels);

}  // namespace fuseflow
