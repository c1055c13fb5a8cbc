#include "support/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "support/error.h"
#include "support/io.h"

namespace fuseflow {

namespace {

namespace fs = std::filesystem;

/// What a link leads to, there or not.
fs::path with_links_resolved(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code failed;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, failed); ++links) {
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// The same for all names of a file, whether it is there or not; empty for what is no file.
std::string file_of(const std::string& path) {
  if (path.empty() || path == "-") return "";
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::exists(status) && !fs::is_regular_file(status)) return "";
  const fs::path whole = with_links_resolved(fs::absolute(path, failed));
  const fs::path real = fs::weakly_canonical(whole, failed);
  return (failed ? whole : real).string();
}

/// Why writing would fail, as a number of errno; 0: nothing is known against it.
int obstacle(const NamedOutput& output) {
  std::error_code failed;
  const fs::file_status status = fs::status(output.path, failed);
  if (failed && failed.value() != ENOENT) return failed.value();
  if (fs::is_directory(status)) return EISDIR;
  if (fs::is_socket(status)) return ENXIO;  // as open() says
  const bool opened = fs::exists(status) && (output.appended || is_written_directly(output.path));
  const std::string folder = with_links_resolved(output.path).parent_path().string();
  const std::string asked = opened ? output.path : folder.empty() ? "." : folder;
  const int mode = opened ? W_OK : W_OK | X_OK;
  return ::faccessat(AT_FDCWD, asked.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
}

void require_writable(const NamedOutput& output) {
  if (output.path.empty() || output.path == "-") return;
  const int number = obstacle(output);
  if (number == 0) return;
  throw Error(ExitCode::io, Location{output.path},
              fmt::format("{}: cannot be written: {}", output.option, std::strerror(number)));
}

}  // namespace

void check_outputs(const std::vector<NamedOutput>& outputs) {
  std::map<std::string, const NamedOutput*> known;
  for (const NamedOutput& output : outputs) {
    const std::string file = file_of(output.path);
    if (file.empty()) continue;
    const auto [at, fresh] = known.emplace(file, &output);
    if (fresh) continue;
    const NamedOutput& first = *at->second;
    const std::string also =
        first.path == output.path ? "" : fmt::format(", the same file as `{}`", first.path);
    throw Error(ExitCode::usage,
                fmt::format("{} and {} both write `{}`{}, where only one of them would be left; "
                            "expected a file for each",
                            first.option, output.option, output.path, also));
  }
  for (const NamedOutput& output : outputs) require_writable(output);
}

void keep_input(const std::vector<NamedOutput>& outputs, const std::string& input) {
  const std::string read = file_of(input);
  if (read.empty()) return;
  for (const NamedOutput& output : outputs) {
    if (file_of(output.path) != read) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} would write over `{}`, the program that is read; expected another "
                            "file",
                            output.option, output.path));
  }
}

}  // namespace fuseflow
