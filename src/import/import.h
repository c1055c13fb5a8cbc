// ONNX to program: the interface of the importer. How it works: ir-spec/import.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace fuseflow {

struct ImportOptions {
  std::map<std::string, Source> bindings;              ///< --bind NAME=...
  std::map<std::string, std::string> formats;          ///< --format NAME=LEVELS
  std::map<std::string, int64_t> dims;                 ///< --dim NAME=N
  std::map<std::string, std::vector<int64_t>> shapes;  ///< inputs of which only the shape is needed
  std::string base_dir;                                ///< relative names of bound files start here
};

/// Reads the model at `path`. Throws Error(rejected) for everything wrong with the model or the
/// options, all unsupported operators and all unbound inputs at once; Error(io) for files.
Program import_onnx(const std::string& path, const ImportOptions& options);

/// The same for a model in memory; `path` is where external data and the tensors' sources point to.
Program import_onnx_bytes(std::string_view bytes, const std::string& path,
                          const ImportOptions& options);

/// A constant (share of entries unlike its best fill at most this) is stored compressed. Just above
/// one half, so that a causal mask and 50 % pruned weights count as sparse.
inline constexpr double kSparseDensity = 0.6;

/// The same for masks, whose absent entries save all the arithmetic behind them.
inline constexpr double kMaskDensity = 0.95;

/// What `--inspect` prints: inputs, operators, constants with densities, values of the program.
std::string inspect_text(const std::string& path, const ImportOptions& options);
std::string inspect_json(const std::string& path, const ImportOptions& options);

/// Makes `onnx(...)` sources readable (tensor/source.h); called by every tool that loads tensors.
/// Forgets the models that were read before.
void register_onnx_sources();

}  // namespace fuseflow
