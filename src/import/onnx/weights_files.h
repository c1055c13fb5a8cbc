// The files beside a model that hold its weights.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

/// The files that the external data of the ONNX model at `path` lie in, each once, found without
/// reading any of them. Empty where the model cannot be read, which its reader reports; what
/// is malformed ends the list.
std::vector<std::string> weights_files(const std::string& path);

}  // namespace fuseflow
