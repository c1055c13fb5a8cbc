// From a source to a storage: dispatch to readers and generators, the checks of shape and count.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>

#include "support/defect.h"
#include "support/error.h"
#include "support/stop.h"
#include "tensor/csf.h"
#include "tensor/extents.h"
#include "tensor/generate.h"
#include "tensor/npy.h"
#include "tensor/params.h"
#include "tensor/readers.h"
#include "tensor/repeated.h"
#include "tensor/source.h"

namespace fuseflow {

namespace {

OnnxLoader& onnx_loader() {
  static OnnxLoader loader;
  return loader;
}

OnnxFiles& onnx_files() {
  static OnnxFiles files;
  return files;
}

using DeclaredShape = std::optional<std::vector<int64_t>>;

std::string resolve(const std::string& path, const LoadOptions& options) {
  const std::filesystem::path given(path);
  if (given.is_absolute() || options.base_dir.empty()) return path;
  return (std::filesystem::path(options.base_dir) / given).string();
}

RawTensor read_file(const Source& source, const DeclaredShape& shape, const LoadOptions& options) {
  const std::string path = resolve(source.path, options);
  const auto [file, member] = split_member(path);
  const Params params(source.params, "file");
  if (params.has("levels") && !is_csf_path(path)) {
    throw Error(ExitCode::rejected, Location{path},
                "levels= says how levels nest, expected a file tensor_NAME_mode_shape");
  }
  if (file.ends_with(".npz")) return read_npz(file, member);
  if (path.ends_with(".mtx.gz")) return read_mtx_gz(path);
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".mtx") return read_mtx(path);
  if (extension == ".tns") return read_tns(path, shape);
  if (extension == ".smtx") return read_smtx(path);
  if (extension == ".npy") return read_npy(path);
  if (is_csf_path(path)) {
    return read_csf(path, params.shape("levels").value_or(std::vector<int64_t>{}));
  }
  throw Error(ExitCode::rejected, Location{path},
              fmt::format("unknown kind of tensor file '{}', expected .mtx, .mtx.gz, .tns, .smtx, "
                          ".npy, .npz or tensor_NAME_mode_shape",
                          extension));
}

/// The values= and seed= options of a file.
void apply_values(RawTensor& raw, const Source& source) {
  const Params params(source.params, "file");
  if (!params.has("values")) return;
  assign_values(raw, params.text("values", ""),
                static_cast<uint64_t>(params.integer("seed", 0, 0, INT64_MAX)));
}

RawTensor read_onnx(const Source& source, const LoadOptions& options) {
  if (!onnx_loader()) {
    throw Defect("no loader of ONNX initializers is registered");
  }
  return onnx_loader()(source, resolve(source.path, options), options);
}

RawTensor read_inline(const Source& source, const DeclaredShape& shape) {
  RawTensor raw;
  const auto count = static_cast<int64_t>(source.values.size());
  raw.shape = shape.value_or(std::vector<int64_t>{count});
  const auto unknown = std::count(raw.shape.begin(), raw.shape.end(), -1);
  if (unknown == 1 && raw.shape.size() == 1) raw.shape[0] = count;
  if (element_count(raw.shape) != count) {
    throw Error(ExitCode::rejected,
                fmt::format("values(...) gives {} values, but the shape [{}] has {} elements",
                            count, fmt::join(raw.shape, ","), element_count(raw.shape)));
  }
  raw.data = Buffer<float>(source.values);
  return raw;
}

/// The value of `from_shape=` of a source, e.g. [1,16,768]: the data's own shape, when the tensor
/// is declared with other dimensions.
std::optional<std::vector<int64_t>> own_shape(const Source& source) {
  for (const auto& [key, text] : source.params) {
    if (key != "from_shape") continue;
    std::vector<int64_t> shape;
    const char* at = text.data() + (text.starts_with("[") ? 1 : 0);
    const char* const end = text.data() + text.size();
    while (at < end && *at != ']') {
      int64_t extent = 0;
      const auto [next, status] = std::from_chars(at, end, extent);
      if (status != std::errc{} || extent < 0) {
        throw Error(ExitCode::rejected,
                    fmt::format("from_shape={}: expected a list like [1,16]", text));
      }
      shape.push_back(extent);
      at = next < end && *next == ',' ? next + 1 : next;
    }
    return shape;
  }
  return std::nullopt;
}

/// A tensor may be declared with other dimensions than its data has, of as many elements in
/// row-major order: a constant of a model, or a source that says its own shape.
void reshape_view(RawTensor& raw, const Source& source, const DeclaredShape& shape) {
  const bool declared = source.kind == Source::Kind::onnx || own_shape(source).has_value();
  if (!declared || !shape || raw.shape == *shape) return;
  if (std::count(shape->begin(), shape->end(), -1) > 0) return;
  if (element_count(*shape) != element_count(raw.shape)) return;
  if (raw.sparse()) reshape(std::get<Coo>(raw.data), *shape);
  raw.shape = *shape;
}

void check_against(const RawTensor& raw, const Source& source, const DeclaredShape& shape) {
  if (!shape) return;
  bool same = shape->size() == raw.shape.size();
  for (size_t d = 0; same && d < raw.shape.size(); ++d) {
    same = (*shape)[d] == raw.shape[d] || (*shape)[d] == -1;
  }
  if (same) return;
  throw Error(ExitCode::rejected, Location{raw.origin},
              fmt::format("{} has shape [{}], expected [{}]", to_string(source),
                          fmt::join(raw.shape, ","), fmt::join(*shape, ",")));
}

/// Of data that list every element, the fill decides which are entries.
void check_entries(const RawTensor& raw, const Source& source, float fill) {
  if (!source.nnz || raw.present(fill) == *source.nnz) return;
  const bool elsewhere = source.kind == Source::Kind::file || source.kind == Source::Kind::onnx;
  throw Error(ExitCode::rejected, Location{raw.origin},
              fmt::format("{} has {} entries, not the declared {}{}", to_string(source),
                          raw.present(fill), *source.nnz,
                          elsewhere ? "; the data changed since the program was written" : ""));
}

}  // namespace

bool says_extents(const Source& source) {
  if (source.kind == Source::Kind::file) return !source.path.ends_with(".tns");
  return source.kind == Source::Kind::onnx;
}

std::pair<std::string, std::string> split_member(const std::string& path) {
  constexpr std::string_view kMark = ".npz:";
  const size_t at = path.rfind(kMark);
  if (at == std::string::npos) return {path, ""};
  return {path.substr(0, at + kMark.size() - 1), path.substr(at + kMark.size())};
}

int64_t RawTensor::present(float fill) const {
  if (const Coo* entries = std::get_if<Coo>(&data))
    return static_cast<int64_t>(entries->values.size());
  const auto& values = std::get<Buffer<float>>(data);
  return std::count_if(values.begin(), values.end(), [&](float v) { return !same_value(v, fill); });
}

double RawTensor::density(float fill) const {
  return density_of(present(fill), shape);
}

void register_onnx_loader(OnnxLoader loader, OnnxFiles files) {
  onnx_loader() = std::move(loader);
  onnx_files() = std::move(files);
}

std::vector<std::string> weights_files_of(const std::string& path) {
  return onnx_files() ? onnx_files()(path) : std::vector<std::string>();
}

RawTensor read_raw(const Source& source, const DeclaredShape& shape, const LoadOptions& options) {
  RawTensor raw;
  const DeclaredShape own = own_shape(source);
  switch (source.kind) {
    case Source::Kind::none:
      throw Defect("a tensor without a source was loaded");
    case Source::Kind::file:
      raw = read_file(source, own ? own : shape, options);
      if (own && raw.shape != *own) {
        throw Error(ExitCode::rejected, Location{raw.origin},
                    fmt::format("the data has shape [{}], but the program was written for [{}]",
                                fmt::join(raw.shape, ","), fmt::join(*own, ",")));
      }
      apply_values(raw, source);
      break;
    case Source::Kind::onnx:
      raw = read_onnx(source, options);
      break;
    case Source::Kind::generator:
      raw = generate(source, own ? own : shape);
      break;
    case Source::Kind::inline_values:
      raw = read_inline(source, shape);
      break;
  }
  reshape_view(raw, source, shape);
  check_against(raw, source, shape);
  if (raw.sparse()) check_entries(raw, source, 0);  // else load() does, which knows the fill
  return raw;
}

Format default_format(const RawTensor& raw) {
  const int rank = static_cast<int>(raw.shape.size());
  return raw.sparse() ? sparse_format(rank) : dense_format(rank);
}

Storage to_storage(RawTensor raw, const Format& format, float fill) {
  try {
    if (raw.sparse()) return from_coo(std::get<Coo>(std::move(raw.data)), format, fill);
    return from_dense(std::get<Buffer<float>>(std::move(raw.data)), std::move(raw.shape), format,
                      fill);
  } catch (const RepeatedCoordinate& repeated) {
    refuse_repeated(raw.origin, repeated);
  } catch (Stopped& stopped) {
    stopped.in_file(raw.origin);
    throw;
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.where.file.empty()) diagnostic.where.file = raw.origin;
    }
    throw Error(error.code(), std::move(diagnostics));
  }
}

Storage load(const Source& source, const DeclaredShape& shape, const Format& format, float fill,
             const LoadOptions& options) {
  RawTensor raw = read_raw(source, shape, options);
  check_entries(raw, source, fill);
  Storage storage = to_storage(std::move(raw), format, fill);
  round_values(storage, options.element);
  return storage;
}

namespace {

/// What was loaded and is still held by somebody, by its source, shape, type and fill.
struct LoadedStorages {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Storage>> storages;
};

LoadedStorages& held() {
  static LoadedStorages instance;
  return instance;
}

/// Whether `format` can be made of `storage` as if it had been read so: every entry is explicit in
/// `storage`, and `format` does not keep the -0 that it has lost.
bool can_convert(const Storage& storage, const Format& format) {
  return !storage.format.has_padding() && !format.all_dense();
}

}  // namespace

std::shared_ptr<const Storage> load_shared(const Source& source, const DeclaredShape& shape,
                                           const Format& format, float fill,
                                           const LoadOptions& options) {
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", options.base_dir, to_string(source),
                                      fmt::join(shape.value_or(std::vector<int64_t>{-1}), ","),
                                      element_name(options.element), fill);
  std::shared_ptr<const Storage> found;
  {
    const std::lock_guard lock(held().mutex);
    found = held().storages[key].lock();
  }
  if (found && found->format == format) return found;
  if (found && can_convert(*found, format))
    return std::make_shared<const Storage>(convert(*found, format));
  auto loaded = std::make_shared<const Storage>(load(source, shape, format, fill, options));
  const std::lock_guard lock(held().mutex);
  held().storages[key] = loaded;
  return loaded;
}

}  // namespace fuseflow
