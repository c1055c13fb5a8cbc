#include "tensor/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "support/error.h"
#include "support/io.h"
#include "tensor/npy.h"

namespace fuseflow {

namespace {

void require_zero_fill(float fill, const char* kind) {
  if (fill == 0) return;
  throw Error(
      ExitCode::rejected,
      fmt::format("a tensor with fill {} cannot be written as {}, whose absent entries mean "
                  "0; write .npy",
                  fill, kind));
}

void require_mtx(size_t rank, float fill) {
  if (rank != 2) {
    throw Error(
        ExitCode::rejected,
        fmt::format("a tensor of {} dimensions cannot be written as .mtx, expected 2; write {}",
                    rank, rank == 0 || fill != 0 ? ".npy" : ".tns or .npy"));
  }
  require_zero_fill(fill, ".mtx");
}

void require_tns(size_t rank, float fill) {
  if (rank == 0) {
    throw Error(ExitCode::rejected,
                "a scalar cannot be written as .tns, expected 1 dimension or "
                "more; write .npy");
  }
  require_zero_fill(fill, ".tns");
}

std::string extension_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

/// The entries in row-major order.
Storage row_major_entries(const Storage& storage) {
  return convert(storage,
                 make_format(std::vector<LevelKind>(storage.shape.size(), LevelKind::compressed)));
}

}  // namespace

std::string mtx_text(const Storage& storage, bool pattern) {
  require_mtx(storage.shape.size(), storage.fill);
  const Storage entries = row_major_entries(storage);
  if (pattern && std::any_of(entries.values.begin(), entries.values.end(),
                             [](float v) { return v != 1.0F; })) {
    throw Error(ExitCode::rejected, "a pattern file holds no values, expected all of them to be 1");
  }
  std::string text = fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n",
                                 pattern ? "pattern" : "real", entries.shape[0], entries.shape[1],
                                 entries.stored());
  auto out = std::back_inserter(text);
  for_each_stored(entries, [&](std::span<const int64_t> coords, float v) {
    if (pattern)
      fmt::format_to(out, "{} {}\n", coords[0] + 1, coords[1] + 1);
    else
      fmt::format_to(out, "{} {} {}\n", coords[0] + 1, coords[1] + 1, v);
  });
  return text;
}

std::string tns_text(const Storage& storage) {
  require_tns(storage.shape.size(), storage.fill);
  std::string text;
  auto out = std::back_inserter(text);
  for_each_stored(row_major_entries(storage), [&](std::span<const int64_t> coords, float v) {
    for (const int64_t c : coords) fmt::format_to(out, "{} ", c + 1);
    fmt::format_to(out, "{}\n", v);
  });
  return text;
}

bool is_written_kind(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".npy" || extension == ".mtx" || extension == ".tns";
}

void require_writable_as(const std::string& path, size_t rank, float fill) {
  const std::string extension = extension_of(path);
  if (extension == ".mtx") require_mtx(rank, fill);
  if (extension == ".tns") require_tns(rank, fill);
}

void write_tensor(const std::string& path, const Storage& storage) {
  const std::string extension = extension_of(path);
  if (extension == ".npy") return write_output(path, npy_bytes(to_dense(storage), storage.shape));
  if (extension == ".mtx") return write_output(path, mtx_text(storage));
  if (extension == ".tns") return write_output(path, tns_text(storage));
  throw Error(
      ExitCode::rejected, Location{path},
      fmt::format("unknown kind of tensor file '{}', expected .npy, .mtx or .tns", extension));
}

}  // namespace fuseflow
