#include "support/destination.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

/// N of /dev/fd/N and of what /dev/stdout is a link to; -1: no such name. They have to be seen
/// before they are followed: the file they name must not be opened again, at its beginning.
int descriptor_named(const fs::path& path) {
  const std::string folder = path.parent_path().string();
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd";
  if (folder != "/dev/fd" && folder != "/proc/self/fd" && folder != own) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  return failed == std::errc() && end == name.data() + name.size() ? number : -1;
}

}  // namespace

Destination destination_of(const std::string& path) {
  if (path.empty() || path == "-") return {Destination::Kind::descriptor, STDOUT_FILENO, "-"};
  constexpr int kMostLinks = 40;  // as the system follows
  fs::path at = path;
  std::error_code failed;
  for (int links = 0; links <= kMostLinks; ++links) {
    const int descriptor = descriptor_named(at);
    if (descriptor >= 0) return {Destination::Kind::descriptor, descriptor, at.string()};
    if (!fs::is_symlink(at, failed)) break;
    const fs::path target = fs::read_symlink(at, failed);
    if (failed) break;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  const fs::file_status status = fs::status(at, failed);
  const bool special = fs::exists(status) && !fs::is_regular_file(status);
  return {special ? Destination::Kind::special : Destination::Kind::file, -1, at.string()};
}

}  // namespace fuseflow
