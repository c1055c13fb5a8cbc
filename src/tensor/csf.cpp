#include "tensor/csf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/error.h"
#include "support/io.h"
#include "tensor/limits.h"
#include "tensor/readers.h"
#include "tensor/text_cursor.h"

namespace fuseflow {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "tensor_";
constexpr std::string_view kEnd = "_mode_shape";

/// A sibling of the shape's file: `what` is "vals", "0_seg", ..
std::string sibling(const std::string& path, const std::string& what) {
  return path.substr(0, path.size() - std::string_view("shape").size()) + what;
}

std::string level_file(const std::string& path, int dimension, const char* what) {
  return sibling(path, fmt::format("{}_{}", dimension, what));
}

template <typename Take>
void for_each_line(const std::string& path, const Take& take) {
  const MappedFile file(path);
  TextCursor cursor(file.bytes(), path);
  for (cursor.skip_lines('\0'); !cursor.at_end(); cursor.skip_lines('\0')) {
    take(cursor);
    cursor.end_line();
  }
}

/// The arrays of a compressed level, as the file has them.
struct CompressedArrays {
  std::vector<int64_t> seg;
  std::vector<uint32_t> crd;
};

CompressedArrays read_level(const std::string& path, int dimension, int64_t extent) {
  CompressedArrays stored;
  for_each_line(level_file(path, dimension, "crd"), [&](TextCursor& cursor) {
    stored.crd.push_back(cursor.coordinate(extent, 0, "coordinate"));
  });
  const auto entries = static_cast<int64_t>(stored.crd.size());
  for_each_line(level_file(path, dimension, "seg"), [&](TextCursor& cursor) {
    const int64_t least = stored.seg.empty() ? 0 : stored.seg.back();
    const int64_t position = cursor.integer("a position");
    if (position < least || position > (stored.seg.empty() ? 0 : entries)) {
      cursor.fail(fmt::format("position {} is out of range, expected {} to {}", position, least,
                              stored.seg.empty() ? 0 : entries),
                  1);
    }
    stored.seg.push_back(position);
  });
  return stored;
}

/// Reads the levels of one tensor, outermost first, and spells out the coordinates of each.
class CsfReader {
 public:
  CsfReader(const std::string& path, const std::vector<int64_t>& order)
      : path_(path), shape_(read_csf_shape(path)) {
    for (size_t l = 0; l < shape_.size(); ++l) {
      dimension_of_.push_back(order.empty() ? static_cast<int>(l) : dimension_at(order, l));
    }
    for (const int dimension : dimension_of_) {
      extents_.push_back(shape_[static_cast<size_t>(dimension)]);
    }
  }

  RawTensor read() {
    read_levels();
    read_values();
    RawTensor raw;
    raw.origin = path_;
    raw.shape = shape_;
    if (all_dense_ && std::is_sorted(dimension_of_.begin(), dimension_of_.end())) {
      raw.data = Buffer<float>(std::move(values_));
      return raw;
    }
    std::vector<std::vector<uint32_t>> of_level = coordinates();
    std::vector<std::vector<uint32_t>> of_dimension(of_level.size());
    for (size_t l = 0; l < of_level.size(); ++l) {
      of_dimension[static_cast<size_t>(dimension_of_[l])] = std::move(of_level[l]);
    }
    raw.data = Coo{shape_, std::move(of_dimension), std::move(values_)};
    return raw;
  }

 private:
  [[noreturn]] void fail(const std::string& file, const std::string& message) const {
    throw Error(ExitCode::rejected, Location{file}, message);
  }

  int dimension_at(const std::vector<int64_t>& order, size_t level) const {
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (sorted.size() == shape_.size() && sorted[d] == static_cast<int64_t>(d)) continue;
      fail(path_, fmt::format("levels=[{}] of a tensor of {} dimension(s), expected each "
                              "dimension once, outermost level first",
                              fmt::join(order, ","), shape_.size()));
    }
    return static_cast<int>(order[level]);
  }

  std::string file_of(size_t level, const char* what) const {
    return level_file(path_, dimension_of_[level], what);
  }

  /// Counts the positions of every level before anything is spelled out: the files say how many
  /// there are, whatever the shape says.
  void read_levels() {
    levels_.resize(shape_.size());
    for (size_t l = 0; l < shape_.size(); ++l) {
      if (!csf_level_is_stored(path_, dimension_of_[l])) {
        if (extents_[l] > 0 && positions_ > kMaxStored / extents_[l]) {
          fail(path_, fmt::format("level {} has more than {} positions", l, kMaxStored));
        }
        positions_ *= extents_[l];
        continue;
      }
      all_dense_ = false;
      levels_[l] = read_level(path_, dimension_of_[l], extents_[l]);
      check_fibers(l);
      positions_ = static_cast<int64_t>(levels_[l].crd.size());
    }
  }

  void check_fibers(size_t l) const {
    const CompressedArrays& level = levels_[l];
    const std::string seg = file_of(l, "seg");
    if (static_cast<int64_t>(level.seg.size()) != positions_ + 1) {
      fail(seg, fmt::format("{} positions, expected {}: one for each of the {} elements above, and "
                            "the end",
                            level.seg.size(), positions_ + 1, positions_));
    }
    if (level.seg.back() != static_cast<int64_t>(level.crd.size())) {
      fail(seg, fmt::format("the last position is {}, expected the number of coordinates, {}",
                            level.seg.back(), level.crd.size()));
    }
    check_elements_above(l);
    for (size_t p = 0; p + 1 < level.seg.size(); ++p) check_fiber(l, p);
  }

  /// Our formats store no element of a compressed level without values below. Dense levels in
  /// between may have empty fibers, but not all of those of one element.
  void check_elements_above(size_t l) const {
    size_t above = l;
    size_t fibers = 1;  // of each element of the compressed level above
    while (above > 0 && levels_[above - 1].seg.empty()) {
      fibers *= static_cast<size_t>(extents_[--above]);
    }
    if (above == 0) return;
    const std::vector<int64_t>& seg = levels_[l].seg;
    const size_t elements = levels_[above - 1].crd.size();
    for (size_t e = 0; e < elements; ++e) {
      if (seg[e * fibers] != seg[(e + 1) * fibers]) continue;
      fail(file_of(l, "seg"), fmt::format("element {} of compressed level {} has no values below, "
                                          "expected no such element in a compressed level",
                                          e, above - 1));
    }
  }

  void check_fiber(size_t l, size_t p) const {
    const CompressedArrays& level = levels_[l];
    for (int64_t at = level.seg[p] + 1; at < level.seg[p + 1]; ++at) {
      const auto here = static_cast<size_t>(at);
      if (level.crd[here - 1] < level.crd[here]) continue;
      fail(file_of(l, "crd"),
           fmt::format("coordinate {} follows {} in a fiber, expected ascending ones",
                       level.crd[here], level.crd[here - 1]));
    }
  }

  void read_values() {
    const std::string file = sibling(path_, "vals");
    for_each_line(file, [&](TextCursor& cursor) { values_.push_back(cursor.value()); });
    if (static_cast<int64_t>(values_.size()) == positions_) return;
    fail(file, fmt::format("{} values, expected {}: one for each position of the innermost level",
                           values_.size(), positions_));
  }

  /// A column of coordinates a level, for the positions of the innermost one.
  std::vector<std::vector<uint32_t>> coordinates() const {
    std::vector<std::vector<uint32_t>> columns;
    if (values_.empty()) return {shape_.size(), std::vector<uint32_t>{}};
    for (size_t l = 0; l < shape_.size(); ++l) {
      std::vector<size_t> parents;
      std::vector<uint32_t> own;
      const size_t above = columns.empty() ? 1 : columns[0].size();
      for (size_t p = 0; p < above; ++p) open_fiber(l, p, parents, own);
      for (auto& column : columns) {
        std::vector<uint32_t> spread;
        spread.reserve(parents.size());
        for (const size_t p : parents) spread.push_back(column[p]);
        column = std::move(spread);
      }
      columns.push_back(std::move(own));
    }
    return columns;
  }

  void open_fiber(size_t l, size_t p, std::vector<size_t>& parents,
                  std::vector<uint32_t>& own) const {
    const CompressedArrays& level = levels_[l];
    const bool dense = level.seg.empty();
    const int64_t begin = dense ? 0 : level.seg[p];
    const int64_t end = dense ? extents_[l] : level.seg[p + 1];
    for (int64_t at = begin; at < end; ++at) {
      parents.push_back(p);
      own.push_back(dense ? static_cast<uint32_t>(at) : level.crd[static_cast<size_t>(at)]);
    }
  }

  std::string path_;
  std::vector<int64_t> shape_;
  std::vector<int> dimension_of_;         ///< by level
  std::vector<int64_t> extents_;          ///< by level
  std::vector<CompressedArrays> levels_;  ///< empty where a level is dense
  std::vector<float> values_;
  int64_t positions_ = 1;  ///< of the innermost level read
  bool all_dense_ = true;
};

template <typename Number>
std::string column_text(const Number* begin, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) fmt::format_to(std::back_inserter(text), "{}\n", begin[i]);
  return text;
}

}  // namespace

std::string csf_path(const std::string& folder, const std::string& name) {
  const bool plain =
      !name.empty() && name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain) {
    throw Error(ExitCode::rejected,
                fmt::format("tensor '{}' names no file, expected a name without '/'", name));
  }
  const fs::path file(fmt::format("{}{}{}", kBegin, name, kEnd));
  return (fs::path(folder) / file).lexically_normal().string();
}

bool is_csf_path(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  return file.size() > kBegin.size() + kEnd.size() && file.starts_with(kBegin) &&
         file.ends_with(kEnd);
}

std::vector<std::string> csf_files(const std::string& path) {
  std::vector<std::string> files = {path, sibling(path, "vals")};
  for (int level = 0; level < static_cast<int>(kMaxRank); ++level) {
    files.push_back(level_file(path, level, "seg"));
    files.push_back(level_file(path, level, "crd"));
  }
  return files;
}

bool csf_level_is_stored(const std::string& path, int dimension) {
  std::error_code ignored;
  return fs::exists(level_file(path, dimension, "seg"), ignored);
}

std::vector<int64_t> read_csf_shape(const std::string& path) {
  std::vector<int64_t> shape;
  for_each_line(path, [&](TextCursor& cursor) {
    if (shape.size() == kMaxRank) cursor.fail("more than 16 extents");
    shape.push_back(cursor.integer("an extent"));
    if (shape.back() > kMaxStored) cursor.fail("an extent beyond 32 bits", 1);
  });
  return shape;
}

RawTensor read_csf(const std::string& path, const std::vector<int64_t>& levels) {
  return CsfReader(path, levels).read();
}

namespace {

void remove_level_files(const std::string& path, int dimension) {
  for (const char* what : {"seg", "crd"}) {
    const std::string file = level_file(path, dimension, what);
    std::error_code failed;
    fs::remove(file, failed);
    if (failed) {
      throw Error(ExitCode::io, fmt::format("cannot remove {}, which an earlier tensor left: {}",
                                            file, failed.message()));
    }
  }
}

}  // namespace

void write_csf(const std::string& path, const Storage& storage) {
  if (!storage.format.block.empty()) {
    throw Error(ExitCode::rejected, "blocks have no form in text files of levels");
  }
  std::vector<int64_t> extents(storage.levels.size());
  std::set<int> stored;
  for (size_t l = 0; l < storage.levels.size(); ++l) {
    const Level& level = storage.levels[l];
    const int dimension = storage.format.mode_order[l];
    extents[static_cast<size_t>(dimension)] = level.extent;
    if (level.kind == LevelKind::dense) continue;
    if (level.kind != LevelKind::compressed) {
      throw Error(ExitCode::rejected,
                  fmt::format("a {} level has no form in text files of levels, expected dense or "
                              "compressed",
                              level_name(level.kind)));
    }
    stored.insert(dimension);
    write_output(level_file(path, dimension, "seg"),
                 column_text(level.pos.data(), level.pos.size()));
    write_output(level_file(path, dimension, "crd"),
                 column_text(level.crd.data(), level.crd.size()));
  }
  for (int dimension = 0; dimension < static_cast<int>(kMaxRank); ++dimension) {
    if (!stored.contains(dimension)) remove_level_files(path, dimension);
  }
  write_output(path, column_text(extents.data(), extents.size()));
  write_output(sibling(path, "vals"), column_text(storage.values.data(), storage.values.size()));
}

}  // namespace fuseflow
