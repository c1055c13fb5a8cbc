#include "exchange/data.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "support/error.h"
#include "support/text.h"
#include "tensor/csf.h"

namespace fuseflow {

std::string file_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return result;
}

std::vector<std::string> file_names(const Program& program) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Tensor& tensor : program.tensors) {
    names.push_back(unused_name(file_name(tensor.name), "_", 2, [&](const std::string& name) {
      return !taken.insert(name).second;
    }));
  }
  return names;
}

namespace {

/// A given tensor that a graph reads, and the file that stands for it (tensor/csf.h).
struct WrittenTensor {
  const Tensor* tensor;
  std::string path;
};

std::vector<WrittenTensor> written_tensors(const Program& program,
                                           const std::vector<const Region*>& regions,
                                           const std::string& folder) {
  std::set<TensorId> used;
  for (const Region* region : regions) {
    for (const Node& node : region->graph->nodes) {
      if (node.tensor >= 0) used.insert(node.tensor);
    }
  }
  const std::vector<std::string> names = file_names(program);
  std::vector<WrittenTensor> written;
  for (const TensorId id : used) {
    const Tensor& tensor = program.tensors[static_cast<size_t>(id)];
    if (!tensor.given()) continue;
    if (tensor.source.kind == Source::Kind::none) {
      throw Error(ExitCode::rejected,
                  fmt::format("tensor %{} has no data yet, expected a source", tensor.name));
    }
    written.push_back({&tensor, csf_path(folder, names[static_cast<size_t>(id)])});
  }
  return written;
}

}  // namespace

std::vector<std::string> data_files(const Program& program,
                                    const std::vector<const Region*>& regions,
                                    const std::string& folder) {
  std::vector<std::string> files;
  for (const WrittenTensor& written : written_tensors(program, regions, folder)) {
    for (std::string& file : csf_files(written.path)) files.push_back(std::move(file));
  }
  return files;
}

void write_data(const Program& program, const std::vector<const Region*>& regions,
                const std::string& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (const WrittenTensor& written : written_tensors(program, regions, folder)) {
    const Tensor& tensor = *written.tensor;
    write_csf(written.path, load(tensor.source, known_shape(tensor), tensor.format, tensor.fill,
                                 {.element = tensor.type}));
  }
}

}  // namespace fuseflow
