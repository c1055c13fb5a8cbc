#include "ir/files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "ir/names.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "support/destination.h"
#include "support/error.h"
#include "support/inputs.h"
#include "support/io.h"
#include "support/path_hints.h"
#include "tensor/csf.h"
#include "tensor/derived.h"
#include "tensor/source.h"

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

/// The folder of a program's file; empty: the current one, also for what is open already, whatever
/// it leads to, and for pipes and devices.
std::string folder_of(const std::string& file) {
  const bool is_file = destination_of(file).kind == Destination::Kind::file;
  return is_file ? fs::path(file).parent_path().string() : "";
}

/// The path with links resolved as far as it exists.
fs::path resolved(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::weakly_canonical(path, failed);
  return failed ? path : result;
}

fs::path rooted(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::absolute(path, failed);
  return failed ? path : result;
}

/// Without `.`, `..` and doubled slashes where that names the same file: through a link it may not.
fs::path tidy(const fs::path& path) {
  fs::path normal = path.lexically_normal();
  if (normal == path) return path;
  return resolved(rooted(normal)) == resolved(rooted(path)) ? normal : path;
}

/// How `path`, which holds from the current folder, is called from `folder`.
fs::path seen_from(const fs::path& path, const fs::path& folder) {
  const fs::path target = rooted(path).lexically_normal();
  const fs::path from = rooted(folder).lexically_normal();
  fs::path plain = target.lexically_relative(from);
  const fs::path real = resolved(rooted(path));
  if (!plain.empty() && resolved(from / plain) == real) return plain;
  const fs::path parent = resolved(rooted(path).parent_path());
  return (parent / path.filename()).lexically_relative(resolved(from));
}

/// How a path that holds from `folder` is called from the current one.
std::string from_current(const std::string& path, const fs::path& folder) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  const fs::path joined = folder / path;
  return (joined.is_absolute() ? seen_from(joined, ".") : tidy(joined)).string();
}

std::string from_folder(const std::string& path, const fs::path& folder) {
  if (path.empty() || folder.empty() || fs::path(path).is_absolute()) return path;
  return seen_from(path, folder).string();
}

/// Replaces all paths of a program; a model's path, which many constants name, is looked at once.
template <typename Replace>
void replace_paths(Program& program, const Replace& replace) {
  std::map<std::string, std::string> known;
  for (Tensor& tensor : program.tensors) {
    replace_paths(tensor.source, [&](const std::string& path) {
      const auto [at, fresh] = known.try_emplace(path);
      if (fresh) at->second = replace(path, tensor);
      return at->second;
    });
  }
}

/// `path` may name an array of an archive.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(split_member(path.string()).first, ignored);
}

void check_directory(const std::string& directory) {
  std::error_code ignored;
  if (directory.empty() || fs::is_directory(directory, ignored)) return;
  throw Error(ExitCode::io, Location{directory}, "-C: this is not a readable folder");
}

Diagnostic only_in_current_folder(const Tensor& tensor, const std::string& path,
                                  const std::string& folder) {
  return {
      Severity::error, tensor.where,
      fmt::format("\"{}\", the data of %{}, is not in {}, the folder of the program, but in the "
                  "current folder; relative paths start at the program's folder: give -C . to "
                  "start at the current one",
                  path, quote_if_needed(tensor.name), folder),
      ""};
}

/// Data of a program are inputs of the tool, whether it reads them or not. `model`: the path is
/// that of a model, whose weights may be in other files.
void note_data_file(const std::string& path, bool model) {
  const auto files = is_csf_path(path) ? csf_files(path) : std::vector{split_member(path).first};
  for (const std::string& file : files) note_input(file);
  if (!model) return;
  for (const std::string& file : weights_files_of(path)) note_input(file);
}

/// Whether the path `given` of a tensor's source is that of a model.
bool names_model(const Tensor& tensor, const std::string& given) {
  return tensor.source.kind == Source::Kind::onnx && tensor.source.path == given;
}

}  // namespace

Program read_program(const std::string& path, const std::string& directory,
                     const Bindings& bindings) {
  check_directory(directory);
  return read_program(read_source(path), path, directory, bindings);
}

Program read_program(const SourceText& text, const std::string& path, const std::string& directory,
                     const Bindings& bindings) {
  Program program = parse_program(text);
  const std::string folder = directory.empty() ? folder_of(path) : directory;
  const bool given_here = directory.empty() && (path.empty() || path == "-");
  std::vector<Diagnostic> misplaced;
  replace_paths(program, [&](const std::string& given, const Tensor& tensor) {
    std::string found = from_current(given, folder);
    if (given_here && !fs::path(given).is_absolute()) {
      add_path_hint(split_member(found).first,
                    "relative paths of a program on standard input start at the current folder: "
                    "give -C DIR to start at DIR");
    }
    note_data_file(found, names_model(tensor, given));
    if (directory.empty() && found != given && !is_there(found) && is_there(given)) {
      misplaced.push_back(only_in_current_folder(tensor, given, folder));
    }
    return found;
  });
  if (!misplaced.empty()) throw Error(ExitCode::io, std::move(misplaced));
  for (const auto& [name, source] : bindings.sources) {
    if (!source.path.empty()) note_data_file(source.path, source.kind == Source::Kind::onnx);
  }
  bind(program, bindings);
  return program;
}

void write_program(const std::string& path, Program program) {
  replace_paths(program, [](const std::string& given, const Tensor& tensor) {
    note_data_file(given, names_model(tensor, given));
    return given;
  });
  const std::string folder = folder_of(path);
  if (!folder.empty()) {
    replace_paths(program, [&](const std::string& given, const Tensor&) {
      return from_folder(given, folder);
    });
  }
  write_output(path, print_program(program));
}

}  // namespace fuseflow
