// From coordinates to levels: one radix sort into storage order, then one pass a level. The arrays
// of the entries are moved into the levels where they already are what the level stores, so that
// building a CSR matrix needs little more than the entries and their sorted copy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>

#include "support/defect.h"
#include "support/error.h"
#include "tensor/limits.h"
#include "tensor/repeated.h"
#include "tensor/storage.h"
#include "tensor/zeros.h"

namespace fuseflow {

namespace {

using Column = std::vector<uint32_t>;

/// Entries as sorted by storage order: keys[l] is the coordinate at level l; with blocks one more
/// key, the offset inside the block.
struct SortedEntries {
  std::vector<Column> keys;
  std::vector<int64_t> extents;
  std::vector<float> values;
};

constexpr int kDigitBits = 11;

/// One stable counting pass by bits [shift, shift + kDigitBits) of key `k`.
void counting_pass(SortedEntries& entries, size_t k, int shift) {
  stop_if_asked();
  const size_t n = entries.values.size();
  constexpr uint32_t kMask = (1U << kDigitBits) - 1;
  std::vector<size_t> start((size_t{1} << kDigitBits) + 1, 0);
  for (const uint32_t c : entries.keys[k]) ++start[(c >> shift & kMask) + 1];
  for (size_t d = 1; d < start.size(); ++d) {
    if (start[d] == n) return;  // one digit for all: nothing moves
    start[d] += start[d - 1];
  }
  Column place(n);
  for (size_t e = 0; e < n; ++e) {
    place[e] = static_cast<uint32_t>(start[entries.keys[k][e] >> shift & kMask]++);
  }
  Column moved(n);
  for (Column& column : entries.keys) {
    for (size_t e = 0; e < n; ++e) moved[place[e]] = column[e];
    column.swap(moved);
  }
  Column().swap(moved);
  std::vector<float> values(n);
  for (size_t e = 0; e < n; ++e) values[place[e]] = entries.values[e];
  entries.values.swap(values);
}

bool same_as_previous(const SortedEntries& entries, size_t e) {
  return std::all_of(entries.keys.begin(), entries.keys.end(),
                     [e](const Column& column) { return column[e - 1] == column[e]; });
}

/// Whether every entry is greater than the one before it. One column after the other, without
/// branches on single entries.
bool ascending(const SortedEntries& entries) {
  constexpr size_t kMost = 1024;      // entries at a time
  std::array<uint32_t, kMost> less;   // 1: the columns so far tell an entry from the one before
  std::array<uint32_t, kMost> equal;  // 1: they do not differ
  for (size_t first = 1; first < entries.values.size(); first += kMost) {
    const size_t n = std::min(kMost, entries.values.size() - first);
    less.fill(0);
    equal.fill(1);
    for (const Column& column : entries.keys) {
      const uint32_t* before = column.data() + first - 1;
      const uint32_t* c = column.data() + first;
      // Two loops, as compilers make branches of one.
      for (size_t e = 0; e < n; ++e) less[e] |= equal[e] & (before[e] < c[e] ? 1U : 0U);
      for (size_t e = 0; e < n; ++e) equal[e] &= before[e] == c[e] ? 1U : 0U;
    }
    uint32_t all = 1;
    for (size_t e = 0; e < n; ++e) all &= less[e];
    if (all == 0) return false;
  }
  return true;
}

void sort(SortedEntries& entries) {
  for (size_t k = entries.keys.size(); k-- > 0;) {
    const int64_t last = std::max<int64_t>(entries.extents[k], 1) - 1;
    const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(last)));
    for (int shift = 0; shift < bits; shift += kDigitBits) counting_pass(entries, k, shift);
  }
}

/// Moves the entries' columns into storage order and checks every coordinate.
SortedEntries keyed(Coo entries, const Format& format) {
  SortedEntries result;
  const size_t n = entries.values.size();
  const std::vector<int64_t>& block = format.block;
  for (size_t d = 0; d < entries.shape.size(); ++d) {
    if (entries.coords[d].size() != n) {
      throw Defect("coordinate columns and values differ in length");
    }
    const uint32_t* beyond = find_beyond(entries.coords[d], entries.shape[d]);
    if (beyond == nullptr) continue;
    throw Error(ExitCode::rejected,
                fmt::format("coordinate {} of dimension {} is out of range, expected less than {}",
                            *beyond, d, entries.shape[d]));
  }
  if (!block.empty()) {
    Column offset(n, 0);
    for (size_t d = 0; d < block.size(); ++d) {
      const auto extent = static_cast<uint32_t>(block[d]);
      for (size_t e = 0; e < n; ++e) {
        offset[e] = offset[e] * extent + entries.coords[d][e] % extent;
        entries.coords[d][e] /= extent;
      }
    }
    entries.coords.push_back(std::move(offset));
  }
  for (const int mode : format.mode_order) {
    const auto d = static_cast<size_t>(mode);
    result.keys.push_back(std::move(entries.coords[d]));
    result.extents.push_back(format.coordinates(d, entries.shape[d]));
  }
  if (!block.empty()) {
    result.keys.push_back(std::move(entries.coords.back()));
    result.extents.push_back(format.block_volume());
  }
  result.values = std::move(entries.values);
  return result;
}

[[noreturn]] void report_duplicate(const SortedEntries& entries, const Format& format, size_t e) {
  std::vector<uint64_t> coords(format.mode_order.size());
  for (size_t l = 0; l < coords.size(); ++l) {
    coords[static_cast<size_t>(format.mode_order[l])] = entries.keys[l][e];
  }
  if (!format.block.empty()) {
    uint64_t offset = entries.keys.back()[e];
    for (size_t d = coords.size(); d-- > 0;) {
      const auto extent = static_cast<uint64_t>(format.block[d]);
      coords[d] = coords[d] * extent + offset % extent;
      offset /= extent;
    }
  }
  throw RepeatedCoordinate(std::move(coords));
}

/// Puts the entries in order; none may occur twice.
void order(SortedEntries& entries, const Format& format) {
  if (ascending(entries)) return;
  sort(entries);
  if (ascending(entries)) return;
  for (size_t e = 1; e < entries.values.size(); ++e) {
    if (same_as_previous(entries, e)) report_duplicate(entries, format, e);
  }
}

/// Turns sorted keys into levels. position_[e] is the position of entry e in the level built last;
/// it is left empty while there is one parent only.
class LevelBuilder {
 public:
  LevelBuilder(SortedEntries& entries, const Format& format) : entries_(entries), format_(format) {}

  std::vector<Level> build() {
    std::vector<Level> levels;
    for (size_t l = 0; l < format_.levels.size(); ++l) {
      Level level{format_.levels[l], entries_.extents[l]};
      switch (level.kind) {
        case LevelKind::dense:
          dense(l);
          break;
        case LevelKind::compressed:
          compressed(level, l);
          break;
        case LevelKind::bitvector:
          bitvector(level, l);
          break;
        case LevelKind::singleton:
          level.crd = std::move(tuple_crd_[l]);
          break;
      }
      levels.push_back(std::move(level));
    }
    if (!format_.block.empty()) dense(format_.levels.size());
    return levels;
  }

  std::vector<float> values(float fill) {
    const size_t n = entries_.values.size();
    // Positions grow with the entries; where there are as many of both, they are the same.
    if (parents_ == n) return std::move(entries_.values);
    require_memory(saturating_product(parents_, sizeof(float)), "the tensor");
    std::vector<float> values = filled(parents_, fill);
    for (size_t e = 0; e < n; ++e) values[parent(e)] = entries_.values[e];
    return values;
  }

 private:
  uint32_t parent(size_t e) const { return position_.empty() ? 0 : position_[e]; }

  void dense(size_t l) {
    const auto extent = static_cast<uint64_t>(entries_.extents[l]);
    const uint64_t children = saturating_product(parents_, extent);
    require_countable(children, fmt::format("dense level {}", l));
    Column& column = entries_.keys[l];
    if (position_.empty()) {
      position_ = std::move(column);
    } else {
      for (size_t e = 0; e < position_.size(); ++e) {
        position_[e] = position_[e] * static_cast<uint32_t>(extent) + column[e];
      }
      Column().swap(column);
    }
    parents_ = children;
  }

  /// Levels of the tuple that starts at l: l and the singletons below.
  size_t tuple_end(size_t l) const {
    size_t end = l + 1;
    while (end < format_.levels.size() && format_.levels[end] == LevelKind::singleton) ++end;
    return end;
  }

  bool starts_position(size_t l, size_t end, size_t e) const {
    if (e == 0 || parent(e - 1) != parent(e)) return true;
    for (size_t k = l; k < end; ++k) {
      if (entries_.keys[k][e - 1] != entries_.keys[k][e]) return true;
    }
    return false;
  }

  /// pos of `level` from the entries that start a position; returns their number.
  uint64_t count_positions(Level& level, size_t l, size_t end) {
    require_memory(saturating_product(parents_ + 1, sizeof(uint32_t)), fmt::format("level {}", l));
    level.pos = filled(parents_ + 1, uint32_t{0});
    uint64_t children = 0;
    const size_t n = entries_.values.size();
    const bool innermost = end == entries_.keys.size();  // every entry starts a position
    for (size_t e = 0; e < n;) {
      const uint32_t p = parent(e);
      uint32_t here = 0;
      for (; e < n && parent(e) == p; ++e) here += innermost || starts_position(l, end, e) ? 1 : 0;
      level.pos[p + 1] = here;
      children += here;
    }
    for (size_t p = 0; p < parents_; ++p) {
      level.pos[p + 1] += level.pos[p];
      if (p % kStepsBetweenStops == 0) stop_if_asked();
    }
    return children;
  }

  /// Renumbers the entries by their position in the level(s) [l, end), calling made(e) at each new
  /// one.
  template <typename Made>
  void renumber(size_t l, size_t end, Made made) {
    const size_t n = entries_.values.size();
    Column next(n);
    uint32_t position = 0;
    for (size_t e = 0; e < n; ++e) {
      if (starts_position(l, end, e)) {
        made(e);
        ++position;
      }
      next[e] = position - 1;
    }
    position_ = std::move(next);
  }

  void compressed(Level& level, size_t l) {
    const size_t end = tuple_end(l);
    const size_t n = entries_.values.size();
    const uint64_t children = count_positions(level, l, end);
    tuple_crd_.resize(format_.levels.size());
    if (children == n && end == entries_.keys.size()) {
      // The innermost levels: every entry is its own position, its columns are the crd arrays.
      for (size_t k = l; k < end; ++k) tuple_crd_[k] = std::move(entries_.keys[k]);
      Column().swap(position_);
    } else {
      for (size_t k = l; k < end; ++k) tuple_crd_[k].reserve(children);
      renumber(l, end, [&](size_t e) {
        for (size_t k = l; k < end; ++k) tuple_crd_[k].push_back(entries_.keys[k][e]);
      });
      for (size_t k = l; k < end; ++k) Column().swap(entries_.keys[k]);
    }
    level.crd = std::move(tuple_crd_[l]);
    parents_ = children;
  }

  void bitvector(Level& level, size_t l) {
    const uint64_t words =
        saturating_product(parents_, static_cast<uint64_t>(level.words_per_fiber()));
    require_memory(saturating_product(words, sizeof(uint64_t)),
                   fmt::format("bitvector level {}", l));
    const uint64_t children = count_positions(level, l, l + 1);
    level.words = filled(words, uint64_t{0});
    for (size_t e = 0; e < entries_.values.size(); ++e) {
      const uint64_t c = entries_.keys[l][e];
      level
          .words[static_cast<uint64_t>(parent(e)) * static_cast<uint64_t>(level.words_per_fiber()) +
                 c / kLevelWordBits] |= uint64_t{1} << c % kLevelWordBits;
    }
    renumber(l, l + 1, [](size_t) {});
    Column().swap(entries_.keys[l]);
    parents_ = children;
  }

  SortedEntries& entries_;
  const Format& format_;
  uint64_t parents_ = 1;
  Column position_;
  std::vector<Column> tuple_crd_;  ///< crd of the current tuple's levels, by level
};

void check_shape(const std::vector<int64_t>& shape) {
  element_count(shape);
  for (const int64_t extent : shape) {
    if (extent <= kMaxStored) continue;
    throw Error(ExitCode::rejected,
                fmt::format("extent {} of shape [{}] is too large, expected at most {}", extent,
                            fmt::join(shape, ","), kMaxStored));
  }
}

}  // namespace

Storage from_coo(Coo entries, const Format& format, float fill) {
  check_shape(entries.shape);
  check_format(format, static_cast<int>(entries.shape.size()));
  require_countable(entries.values.size(), "the tensor");
  if (entries.coords.size() != entries.shape.size()) {
    throw Defect("coordinate columns do not match the shape's rank");
  }
  Storage storage;
  storage.shape = entries.shape;
  storage.format = format;
  storage.fill = fill;
  SortedEntries sorted = keyed(std::move(entries), format);
  order(sorted, format);
  LevelBuilder builder(sorted, format);
  storage.levels = builder.build();
  std::vector<float> values = builder.values(fill);
  keep_one_zero(values, format, fill);
  storage.values = std::move(values);
  return storage;
}

Storage from_coo(std::vector<int64_t> shape, std::vector<std::vector<uint32_t>> coords,
                 std::vector<float> values, const Format& format, float fill) {
  return from_coo(Coo{std::move(shape), std::move(coords), std::move(values)}, format, fill);
}

}  // namespace fuseflow
