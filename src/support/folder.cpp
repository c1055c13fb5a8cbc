#include "support/folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "support/error.h"

namespace fuseflow {

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed)
    throw Error(ExitCode::io, fmt::format("cannot make the folder {}: {}", path, failed.message()));
}

}  // namespace fuseflow
