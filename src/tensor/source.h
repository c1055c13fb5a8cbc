// Where a tensor's values come from, as data with a text form, and the loader that turns it into a
// Storage. Readers of single file formats are in readers.h and npy.h, generators in generate.h.
// ONNX initializers come through a hook, so that this library needs no protobuf.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/value_type.h"
#include "tensor/storage.h"

namespace fuseflow {

/// A tensor's source. Text forms:
///   file("cora.adj.mtx")   onnx("gcn.onnx", "W1")   values(1,2,3)
///   onnx("gcn.onnx", "W1.1", derived="...")  a constant that the importer derives from the model's
///   uniform(shape=[1000,1000],density=0.05,seed=1)  (any generator of generate.h)
/// A sparse file may have its values replaced: file("w.smtx", values=uniform(-1,1), seed=3).
/// All take an optional last argument nnz=N: the number of present entries (those of the file, or
/// the elements unlike the fill of a dense source), checked on load.
struct Source {
  FUSEFLOW_VALUE_TYPE(Source);
  enum class Kind { none, file, onnx, generator, inline_values };
  Kind kind = Kind::none;
  std::string path;                                         ///< file, onnx
  std::string name;                                         ///< initializer, or generator
  std::vector<std::pair<std::string, std::string>> params;  ///< key, value text; canonical order
  std::vector<float> values;                                ///< inline_values
  std::optional<int64_t> nnz;

  bool operator==(const Source&) const = default;
};

/// The path of a source as the file's own and the name of an array in it: FILE.npz:NAME. Of other
/// files the name is empty.
std::pair<std::string, std::string> split_member(const std::string& path);

/// Canonical text; print and parse are inverse to each other. Empty for Kind::none.
std::string to_string(const Source& source);

/// Throws Error(rejected) for an unknown source or key (with the nearest name and the list), and
/// for malformed text. Column numbers of its Location count within `text`.
Source parse_source(std::string_view text);

/// `--bind NAME=...`: a source as above, or else a bare file name.
Source parse_binding(std::string_view text);

/// What a source holds before it has a format: coordinates, or all elements in row-major order.
struct RawTensor {
  std::vector<int64_t> shape;
  ElementType element = ElementType::f32;  ///< as declared by the source
  std::variant<Coo, Buffer<float>> data;
  /// The exact integers of a dense source whose element type is an integer wider than f32 can hold.
  std::vector<int64_t> integers = {};
  std::string origin = {};  ///< file name for messages

  bool sparse() const { return std::holds_alternative<Coo>(data); }
  /// Entries of a sparse source, elements unlike `fill` of a dense one.
  int64_t present(float fill = 0) const;
  /// present / elements; 1 for a tensor without elements.
  double density(float fill = 0) const;
};

struct LoadOptions {
  std::string base_dir = {};  ///< relative file names start here (default: the current directory)
  /// What load() rounds values to. Which entries are stored does not depend on it: one that is
  /// rounded to the fill stays an entry.
  ElementType element = ElementType::f32;
};

/// Reads a source. `shape` is the expected shape, or empty when the source says it itself; an
/// extent of -1 accepts anything. `known_rank` distinguishes a scalar's empty shape from "unknown".
/// Throws Error(rejected) when the shape or the number of entries disagrees, Error(io) for files.
RawTensor read_raw(const Source& source, const std::optional<std::vector<int64_t>>& shape,
                   const LoadOptions& options = {});

/// The default format of what was read: the sparse one for coordinates (see sparse_format), dense
/// for a dense source.
Format default_format(const RawTensor& raw);

/// Stores what was read. Entries of a dense source equal to the fill are absent where `format` lets
/// them.
Storage to_storage(RawTensor raw, const Format& format, float fill = 0);

/// read_raw, then to_storage.
Storage load(const Source& source, const std::optional<std::vector<int64_t>>& shape,
             const Format& format, float fill = 0, const LoadOptions& options = {});

/// load(), shared: data that some other part of the process still holds is not read again (another
/// format of it is made in memory). Safe to call from several threads.
std::shared_ptr<const Storage> load_shared(const Source& source,
                                           const std::optional<std::vector<int64_t>>& shape,
                                           const Format& format, float fill = 0,
                                           const LoadOptions& options = {});

/// Reads constant `source.name` of the ONNX file at `path`; file names of other sources inside
/// `derived` start at the base directory of `options`. Registered by the importer.
using OnnxLoader = std::function<RawTensor(const Source& source, const std::string& path,
                                           const LoadOptions& options)>;
/// The files beside the ONNX file at `path` that hold its weights; none where it cannot be read.
using OnnxFiles = std::function<std::vector<std::string>(const std::string& path)>;
void register_onnx_loader(OnnxLoader loader, OnnxFiles files);

/// By what is registered; none without.
std::vector<std::string> weights_files_of(const std::string& path);

}  // namespace fuseflow
