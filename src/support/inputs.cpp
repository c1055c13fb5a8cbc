#include "support/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "support/error.h"

namespace fuseflow {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct DeclaredOutput {
  std::string option, path;
};

struct Files {
  std::mutex mutex;
  bool kept = false;
  std::map<FileId, std::string> inputs;  ///< and their names
  std::map<FileId, DeclaredOutput> outputs;
};

Files& noted_files() {
  static Files instance;
  return instance;
}

/// The identity of a regular file; nothing for anything else.
std::optional<FileId> id_of(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::optional<FileId> id_of(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 ? id_of(info) : std::nullopt;
}

/// The identity of the file at `path`, through links; "-" is standard output.
std::optional<FileId> id_of(const std::string& path) {
  if (path.empty() || path == "-") return id_of(STDOUT_FILENO);
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? id_of(info) : std::nullopt;
}

constexpr const char* kStandardInput = "standard input";

/// `option` may be empty.
[[noreturn]] void refuse_replacing(const std::string& option, const std::string& path,
                                   const std::string& input) {
  const bool to_standard = path.empty() || path == "-";
  std::string who = option.empty() ? "the output" : option;
  if (path != input) who += to_standard ? " (standard output)" : fmt::format(" `{}`", path);
  const std::string what = input == kStandardInput
                               ? "the file that is standard input"
                               : fmt::format("`{}`, an input of this run", input);
  throw Error(ExitCode::usage, fmt::format("{} would replace {}; expected another file, or --force "
                                           "to replace it",
                                           who, what));
}

void note_input(const std::optional<FileId>& id, const std::string& name) {
  const std::lock_guard lock(noted_files().mutex);
  if (!noted_files().kept || !id) return;
  const bool fresh = noted_files().inputs.emplace(*id, name).second;
  const auto output = noted_files().outputs.find(*id);
  if (fresh && output != noted_files().outputs.end()) {
    refuse_replacing(output->second.option, output->second.path, name);
  }
}

}  // namespace

void keep_inputs() {
  const std::lock_guard lock(noted_files().mutex);
  noted_files().kept = true;
}

void forget_inputs() {
  const std::lock_guard lock(noted_files().mutex);
  noted_files().kept = false;
  noted_files().inputs.clear();
  noted_files().outputs.clear();
}

void note_input(int descriptor, const std::string& name) {
  note_input(id_of(descriptor), name);
}

void note_standard_input() {
  note_input(id_of(STDIN_FILENO), kStandardInput);
}

void note_input(const std::string& path) {
  note_input(id_of(path), path);
}

void note_output(const std::string& option, const std::string& path) {
  const std::lock_guard lock(noted_files().mutex);
  const std::optional<FileId> id = noted_files().kept ? id_of(path) : std::nullopt;
  if (!id) return;
  noted_files().outputs.emplace(*id, DeclaredOutput{option, path});
  const auto input = noted_files().inputs.find(*id);
  if (input != noted_files().inputs.end()) refuse_replacing(option, path, input->second);
}

void require_no_input(const std::string& path) {
  const std::lock_guard lock(noted_files().mutex);
  const std::optional<FileId> id = noted_files().kept ? id_of(path) : std::nullopt;
  const auto input = id ? noted_files().inputs.find(*id) : noted_files().inputs.end();
  if (input != noted_files().inputs.end()) refuse_replacing("", path, input->second);
}

}  // namespace fuseflow
