#include "support/install.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace fuseflow {

std::string own_folder() {
  std::array<char, PATH_MAX> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length > 0) {
    const std::string_view program(path.data(), static_cast<size_t>(length));
    return std::string(program.substr(0, program.rfind('/') + 1));
  }
  // Without /proc: the name by which the system has started the program, from the folder of then.
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr || realpath(started, path.data()) == nullptr) return "";
  const std::string_view program(path.data());
  return std::string(program.substr(0, program.rfind('/') + 1));
}

std::vector<InstalledFile> installed_files(const std::string& folder, const std::string& ending) {
  std::vector<InstalledFile> files;
  std::error_code none;
  const std::filesystem::path bin = own_folder();
  if (bin.empty()) return files;  // not what lies beside the current folder
  const auto share = bin / ".." / "share" / "fuseflow" / folder;
  for (const auto& entry : std::filesystem::directory_iterator(share, none)) {
    const std::filesystem::path path = entry.path().lexically_normal();
    if (path.extension() == ending) files.push_back({path.stem().string(), path.string()});
  }
  std::sort(files.begin(), files.end(),
            [](const InstalledFile& a, const InstalledFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace fuseflow
