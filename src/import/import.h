// ONNX to program: the interface of the importer. How it works: ir-spec/import.md.
#pragma once

#include <string>
#include <string_view>

#include "import/values/options.h"
#include "ir/program.h"

namespace fuseflow {

/// Reads the model at `path`. Throws Error(rejected) for everything wrong with the model or the
/// options, all unsupported operators and all unbound inputs at once; Error(io) for files.
Program import_onnx(const std::string& path, const ImportOptions& options);

/// Reads a model in memory; `path` is where external data and the tensors' sources point to.
Program import_onnx_bytes(std::string_view bytes, const std::string& path,
                          const ImportOptions& options);

/// What `--inspect` prints: inputs, operators, constants with densities, values of the program.
std::string inspect_text(const std::string& path, const ImportOptions& options);
std::string inspect_json(const std::string& path, const ImportOptions& options);

/// Makes `onnx(...)` sources readable (tensor/source.h); called by every tool that loads tensors.
/// Forgets the models that were read before.
void register_onnx_sources();

}  // namespace fuseflow
