// Between storages and the dense and coordinate forms, and from format to format.
#include <fmt/format.h>

#include <cmath>

#include "support/defect.h"
#include "support/error.h"
#include "tensor/limits.h"
#include "tensor/reorder.h"
#include "tensor/storage.h"

namespace fuseflow {

namespace {

/// The levels of an all-dense storage.
Storage dense_shell(std::vector<int64_t> shape, const Format& format, float fill) {
  Storage storage{std::move(shape), format, fill, {}, {}};
  for (const int mode : format.mode_order) {
    storage.levels.push_back({LevelKind::dense, storage.shape[static_cast<size_t>(mode)]});
  }
  return storage;
}

/// True for row-major storage of all elements.
bool is_row_major(const Format& format) {
  return format == dense_format(format.rank());
}

/// Whether an element may be absent: within the threshold of the fill.
struct NearFill {
  float fill;
  float threshold;
  bool operator()(float v) const { return same_value(v, fill) || std::fabs(v - fill) <= threshold; }
};

}  // namespace

Storage from_dense(Buffer<float> values, std::vector<int64_t> shape, const Format& format,
                   float fill, float threshold) {
  check_format(format, static_cast<int>(shape.size()));
  const int64_t elements = element_count(shape);
  require_countable(static_cast<uint64_t>(elements), "the tensor");
  if (static_cast<int64_t>(values.size()) != elements) {
    throw Error(ExitCode::rejected, fmt::format("{} values given, but the shape has {} elements",
                                                values.size(), elements));
  }
  if (format.all_dense()) {
    Storage storage = dense_shell(std::move(shape), format, fill);
    if (!is_row_major(format))
      values = reordered<float>(values.span(), storage.shape, format.mode_order);
    storage.values = std::move(values);
    return storage;
  }
  const NearFill droppable{fill, threshold};
  size_t kept = 0;
  for (const float v : values) kept += droppable(v) ? 0 : 1;
  Coo entries{std::move(shape), {}, {}};
  entries.coords.resize(entries.shape.size());
  for (auto& column : entries.coords) column.reserve(kept);
  entries.values.reserve(kept);
  std::vector<uint32_t> index(entries.shape.size(), 0);
  PeriodicStopCheck stop;
  for (const float v : values) {
    stop.step();
    if (!droppable(v)) {
      for (size_t d = 0; d < index.size(); ++d) entries.coords[d].push_back(index[d]);
      entries.values.push_back(v);
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < entries.shape[d]) break;
      index[d] = 0;
    }
  }
  return from_coo(std::move(entries), format, fill);
}

std::vector<float> to_dense(const Storage& storage) {
  const auto elements = static_cast<uint64_t>(storage.elements());
  if (is_row_major(storage.format)) return storage.values.to_vector();
  require_memory(saturating_product(elements, sizeof(float)), "the dense tensor");
  std::vector<float> result(elements, storage.fill);
  const std::vector<int64_t> strides = row_major_strides(storage.shape);
  PeriodicStopCheck stop;
  for_each_stored(storage, [&](std::span<const int64_t> coords, float v) {
    stop.step();
    int64_t offset = 0;
    for (size_t d = 0; d < coords.size(); ++d) offset += coords[d] * strides[d];
    result[static_cast<size_t>(offset)] = v;
  });
  return result;
}

Coo to_coo(const Storage& storage) {
  Coo entries{storage.shape, {}, {}};
  entries.coords.resize(storage.shape.size());
  const bool padded = storage.format.has_padding();
  if (!padded) {
    for (auto& column : entries.coords) column.reserve(storage.values.size());
    entries.values.reserve(storage.values.size());
  }
  PeriodicStopCheck stop;
  for_each_stored(storage, [&](std::span<const int64_t> coords, float v) {
    stop.step();
    if (padded && same_value(v, storage.fill)) return;
    for (size_t d = 0; d < coords.size(); ++d) {
      entries.coords[d].push_back(static_cast<uint32_t>(coords[d]));
    }
    entries.values.push_back(v);
  });
  return entries;
}

Storage convert(const Storage& storage, const Format& format) {
  check_format(format, storage.rank());
  if (format == storage.format) return storage;
  if (format.all_dense()) {
    return from_dense(to_dense(storage), storage.shape, format, storage.fill);
  }
  return from_coo(to_coo(storage), format, storage.fill);
}

void reshape(Coo& entries, const std::vector<int64_t>& shape) {
  const size_t count = entries.values.size();
  std::vector<std::vector<uint32_t>> coords(shape.size(), std::vector<uint32_t>(count));
  for (size_t e = 0; e < count; ++e) {
    int64_t position = 0;
    for (size_t d = 0; d < entries.shape.size(); ++d) {
      position = position * entries.shape[d] + entries.coords[d][e];
    }
    for (size_t d = shape.size(); d-- > 0;) {
      coords[d][e] = static_cast<uint32_t>(position % shape[d]);
      position /= shape[d];
    }
  }
  entries.coords = std::move(coords);
  entries.shape = shape;
}

Storage reshaped(const Storage& storage, const std::vector<int64_t>& shape) {
  if (element_count(shape) != storage.elements()) {
    throw Defect("reshaped: another number of elements");
  }
  const int rank = static_cast<int>(shape.size());
  if (storage.format.all_dense()) {
    return from_dense(to_dense(storage), shape, dense_format(rank), storage.fill);
  }
  Coo entries = to_coo(storage);
  reshape(entries, shape);
  return from_coo(std::move(entries), sparse_format(rank), storage.fill);
}

Storage permuted(const Storage& storage, std::span<const int> dims) {
  Format renamed = storage.format;
  std::vector<int> inverse(storage.shape.size(), -1);
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto source = static_cast<size_t>(dims[d]);
    if (dims.size() != inverse.size() || source >= inverse.size() || inverse[source] >= 0) {
      throw Defect("permuted: dims is not a permutation of the dimensions");
    }
    inverse[source] = static_cast<int>(d);
  }
  for (int& mode : renamed.mode_order) mode = inverse[static_cast<size_t>(mode)];
  if (!storage.format.block.empty()) {  // elements move inside their blocks
    Coo entries = to_coo(storage);
    Coo moved{{}, {}, std::move(entries.values)};
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto source = static_cast<size_t>(dims[d]);
      renamed.block[d] = storage.format.block[source];
      moved.shape.push_back(storage.shape[source]);
      moved.coords.push_back(std::move(entries.coords[source]));
    }
    return from_coo(std::move(moved), renamed, storage.fill);
  }
  Storage result = storage;
  result.format = renamed;
  for (size_t d = 0; d < dims.size(); ++d) {
    result.shape[d] = storage.shape[static_cast<size_t>(dims[d])];
  }
  return result;
}

}  // namespace fuseflow
