#include "support/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "support/destination.h"
#include "support/error.h"
#include "support/inputs.h"

namespace fuseflow {

namespace {

namespace fs = std::filesystem;

/// One name for all names of a file, whether it is there or not; empty for what is no file.
std::string file_of(const std::string& path) {
  if (path.empty()) return "";
  const Destination destination = destination_of(path);
  const bool open = destination.kind == Destination::Kind::descriptor;
  const std::string named =
      open ? fmt::format("/proc/self/fd/{}", destination.descriptor) : destination.path;
  std::error_code failed;
  const fs::file_status status = fs::status(named, failed);
  if (fs::exists(status) ? !fs::is_regular_file(status) : open) return "";
  const fs::path whole = fs::absolute(named, failed);
  const fs::path real = fs::weakly_canonical(whole, failed);
  return (failed ? whole : real).string();
}

/// What one leaves, the other does not write over.
bool may_share(const NamedOutput& a, const NamedOutput& b) {
  const auto open = [](const NamedOutput& output) {
    return destination_of(output.path).kind == Destination::Kind::descriptor;
  };
  return open(a) && open(b);
}

/// Why writing would fail, as a number of errno; 0: nothing is known against it.
int obstacle(const NamedOutput& output) {
  std::error_code failed;
  const fs::file_status status = fs::status(output.path, failed);
  if (failed && failed.value() != ENOENT) return failed.value();
  if (fs::is_directory(status)) return EISDIR;
  if (fs::is_socket(status)) return ENXIO;  // as open() says
  const Destination destination = destination_of(output.path);
  if (destination.kind == Destination::Kind::descriptor) return 0;
  const auto refused = [](const std::string& path, int mode) {
    return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
  };
  // A file that may not be written is not replaced, either, though its folder would allow it.
  if (fs::exists(status)) {
    const int number = refused(destination.path, W_OK);
    if (number != 0) return number;
  }
  const bool opened = destination.kind == Destination::Kind::special ||
                      (fs::exists(status) && !output.appended_to.empty());
  const std::string folder = fs::path(destination.path).parent_path().string();
  return opened ? 0 : refused(folder.empty() ? "." : folder, W_OK | X_OK);
}

void require_writable(const NamedOutput& output) {
  if (output.path.empty() || output.path == "-") return;
  const int number = obstacle(output);
  if (number == 0) return;
  throw Error(ExitCode::io, Location{output.path},
              fmt::format("{}: cannot be written: {}", output.option, std::strerror(number)));
}

/// A file that is not what the option appends to, a text of somebody's, say, would be damaged.
void require_appendable(const NamedOutput& output) {
  if (output.appended_to.empty() || output.path.empty()) return;
  std::error_code failed;
  const fs::file_status status = fs::status(output.path, failed);
  if (!fs::exists(status)) return;
  if (fs::is_regular_file(status)) {  // of a pipe nothing may ever come
    std::ifstream file(output.path, std::ios::binary);
    std::string begin(output.appended_to.size(), '\0');
    file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (output.appended_to.starts_with(begin)) return;  // the whole of it, or what was cut off
  }
  throw Error(
      ExitCode::rejected, Location{output.path},
      fmt::format("{}: this is no file that it appends to, which begins with `{}`; expected "
                  "such a file, or none",
                  output.option, output.appended_to));
}

}  // namespace

void check_outputs(const std::vector<NamedOutput>& outputs) {
  std::map<std::string, const NamedOutput*> known;
  for (const NamedOutput& output : outputs) {
    const std::string file = file_of(output.path);
    if (file.empty()) continue;
    const auto [at, fresh] = known.emplace(file, &output);
    if (fresh || may_share(*at->second, output)) continue;
    const NamedOutput& first = *at->second;
    const std::string also =
        first.path == output.path ? "" : fmt::format(", the same file as `{}`", first.path);
    throw Error(ExitCode::usage,
                fmt::format("{} and {} both write `{}`{}, where only one of them would be left; "
                            "expected a file for each",
                            first.option, output.option, output.path, also));
  }
  for (const NamedOutput& output : outputs) require_writable(output);
  for (const NamedOutput& output : outputs) {
    require_appendable(output);
    if (output.appended_to.empty() && !output.path.empty()) note_output(output.option, output.path);
  }
}

}  // namespace fuseflow
