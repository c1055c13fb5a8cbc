// Storage's accessors, its verifier, and the limits of sizes.
#include "tensor/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "support/defect.h"
#include "support/error.h"
#include "tensor/limits.h"
#include "tensor/zeros.h"

namespace fuseflow {

namespace {

[[noreturn]] void broken(const std::string& what) {
  throw Defect("broken tensor storage: " + what);
}

void ensure(bool holds, size_t l, const char* what) {
  if (!holds) broken(fmt::format("level {}: {}", l, what));
}

/// True if `level` holds tuples together with the singletons below it.
bool starts_tuple(const Format& format, size_t l) {
  return l + 1 < format.levels.size() && format.levels[l + 1] == LevelKind::singleton;
}

size_t tuple_end(const Format& format, size_t l) {
  size_t end = l + 1;
  while (end < format.levels.size() && format.levels[end] == LevelKind::singleton) ++end;
  return end;
}

/// Whether tuple a of the levels [begin, end) is before tuple b.
bool is_before(const Storage& s, size_t begin, size_t end, uint32_t a, uint32_t b) {
  for (size_t l = begin; l < end; ++l) {
    const auto& crd = s.levels[l].crd;
    if (crd[a] != crd[b]) return crd[a] < crd[b];
  }
  return false;
}

/// Whether each tuple at positions [first, last) of the levels [begin, end) is before the next one.
bool tuples_ascend(const Storage& s, size_t begin, size_t end, uint32_t first, uint32_t last) {
  for (uint32_t p = first; p + 1 < last; ++p) {
    if (!is_before(s, begin, end, p, p + 1)) return false;
  }
  return true;
}

/// Whether the coordinates of one level ascend from position `first` to `last` - 1.
bool ascends(std::span<const uint32_t> crd, uint32_t first, uint32_t last) {
  uint32_t wrong = 0;  // no branch an element
  for (uint32_t p = first; p + 1 < last; ++p) wrong |= crd[p] >= crd[p + 1] ? 1U : 0U;
  return wrong == 0;
}

void verify_pos(const Level& level, size_t l, int64_t parents, int64_t children) {
  ensure(static_cast<int64_t>(level.pos.size()) == parents + 1, l,
         "pos has not parents + 1 entries");
  ensure(level.pos.front() == 0, l, "pos does not start at 0");
  ensure(std::is_sorted(level.pos.begin(), level.pos.end()), l, "pos decreases");
  ensure(level.pos.back() == children, l, "pos does not end at the number of positions");
}

void verify_compressed(const Storage& s, size_t l, int64_t parents) {
  const Level& level = s.levels[l];
  verify_pos(level, l, parents, static_cast<int64_t>(level.crd.size()));
  const size_t end = tuple_end(s.format, l);
  for (size_t k = l; k < end; ++k) {
    ensure(s.levels[k].crd.size() == level.crd.size(), k, "crd of a tuple's levels differ in size");
    ensure(find_beyond(s.levels[k].crd, s.levels[k].extent) == nullptr, k,
           "a coordinate is beyond the extent");
  }
  for (int64_t parent = 0; parent < parents; ++parent) {
    const uint32_t first = level.pos[parent];
    const uint32_t last = level.pos[parent + 1];
    ensure(end > l + 1 ? tuples_ascend(s, l, end, first, last) : ascends(level.crd, first, last), l,
           "a fiber is not sorted and unique");
  }
}

/// The bits of a word below that of coordinate c.
uint64_t bits_below(int64_t c) {
  return (uint64_t{1} << c % kLevelWordBits) - 1;
}

void verify_bitvector(const Level& level, size_t l, int64_t parents) {
  const int64_t width = level.words_per_fiber();
  ensure(static_cast<int64_t>(level.words.size()) == parents * width, l, "wrong number of words");
  ensure(!level.pos.empty(), l, "no pos");
  verify_pos(level, l, parents, level.pos.back());
  const uint64_t last =
      level.extent % kLevelWordBits == 0 ? ~uint64_t{0} : bits_below(level.extent);
  for (int64_t parent = 0; parent < parents; ++parent) {
    uint32_t bits = 0;
    for (int64_t w = 0; w < width; ++w) {
      const uint64_t word = level.words[parent * width + w];
      bits += static_cast<uint32_t>(std::popcount(word));
      ensure(w + 1 < width || (word & ~last) == 0, l, "a bit is beyond the extent");
    }
    ensure(bits == level.pos[parent + 1] - level.pos[parent], l, "pos does not count the bits");
  }
}

/// Position of coordinate `c` below `parent`, or -1. For tuples see find_tuple.
int64_t find_child(const Level& level, int64_t parent, int64_t c) {
  switch (level.kind) {
    case LevelKind::dense:
      return parent * level.extent + c;
    case LevelKind::singleton:
      return level.crd[parent] == c ? parent : -1;
    case LevelKind::compressed: {
      const auto begin = level.crd.begin() + level.pos[parent];
      const auto end = level.crd.begin() + level.pos[parent + 1];
      const auto found = std::lower_bound(begin, end, static_cast<uint32_t>(c));
      return found != end && *found == c ? found - level.crd.begin() : -1;
    }
    case LevelKind::bitvector:
      return level.position_of_bit(parent, c);
  }
  return -1;
}

/// Position of the tuple `coords` (one per level of [begin, end)) below `parent`, or -1.
int64_t find_tuple(const Storage& s, size_t begin, size_t end, int64_t parent,
                   std::span<const int64_t> coords) {
  uint32_t low = s.levels[begin].pos[parent];
  uint32_t high = s.levels[begin].pos[parent + 1];
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    int order = 0;
    for (size_t l = begin; l < end && order == 0; ++l) {
      const int64_t c = s.levels[l].crd[middle];
      order = c < coords[l] ? -1 : (c > coords[l] ? 1 : 0);
    }
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

}  // namespace

int64_t Level::position_of_bit(int64_t parent, int64_t c) const {
  const uint64_t* word = words.data() + parent * words_per_fiber();
  const int64_t last = c / kLevelWordBits;
  if ((word[last] >> (c % kLevelWordBits) & 1) == 0) return -1;
  int64_t position = pos[static_cast<size_t>(parent)];
  for (int64_t w = 0; w < last; ++w) position += std::popcount(word[w]);
  return position + std::popcount(word[last] & bits_below(c));
}

const uint32_t* find_beyond(std::span<const uint32_t> coordinates, int64_t extent) {
  uint32_t largest = 0;  // nearly always that is enough
  for (const uint32_t c : coordinates) largest = std::max(largest, c);
  if (coordinates.empty() || largest < extent) return nullptr;
  return &*std::find_if(coordinates.begin(), coordinates.end(),
                        [extent](uint32_t c) { return c >= extent; });
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      throw Error(ExitCode::rejected,
                  fmt::format("shape [{}] has a negative extent", fmt::join(shape, ",")));
    }
    if (extent == 0) count = 0;
    if (__builtin_mul_overflow(count, extent, &count) || count > kManyElements) {
      count = kManyElements;
    }
  }
  return count;
}

double density_of(int64_t entries, std::span<const int64_t> shape) {
  double elements = 1;
  for (const int64_t extent : shape) elements *= static_cast<double>(extent);
  return elements == 0 ? 1.0 : static_cast<double>(entries) / elements;
}

int64_t Storage::elements() const {
  return element_count(shape);
}

namespace {

/// Levels above one of extent 0 may have more positions than can be counted.
int64_t capped_positions(int64_t above, int64_t extent) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const uint64_t all =
      saturating_product(static_cast<uint64_t>(above), static_cast<uint64_t>(extent));
  return static_cast<int64_t>(std::min(all, kMost));
}

}  // namespace

int64_t Storage::positions(int l) const {
  int64_t count = 1;
  for (int k = 0; k <= l; ++k) {
    const Level& level = levels[static_cast<size_t>(k)];
    switch (level.kind) {
      case LevelKind::dense:
        count = capped_positions(count, level.extent);
        break;
      case LevelKind::compressed:
      case LevelKind::bitvector:
        count = level.pos.back();
        break;
      case LevelKind::singleton:
        break;
    }
  }
  return count;
}

float Storage::at(std::span<const int64_t> coords) const {
  if (coords.size() != shape.size()) broken("coordinate of the wrong rank");
  std::vector<int64_t> stored_coords(coords.size());
  int64_t in_block = 0;
  for (size_t d = 0; d < coords.size(); ++d) {
    if (coords[d] < 0 || coords[d] >= shape[d]) broken("coordinate outside the shape");
    if (!format.block.empty()) in_block = in_block * format.block[d] + coords[d] % format.block[d];
  }
  for (size_t l = 0; l < levels.size(); ++l) {
    const auto d = static_cast<size_t>(format.mode_order[l]);
    stored_coords[l] = format.block.empty() ? coords[d] : coords[d] / format.block[d];
  }
  int64_t position = 0;
  for (size_t l = 0; l < levels.size() && position >= 0;) {
    if (starts_tuple(format, l)) {
      const size_t end = tuple_end(format, l);
      position = find_tuple(*this, l, end, position, stored_coords);
      l = end;
    } else {
      position = find_child(levels[l], position, stored_coords[l]);
      ++l;
    }
  }
  return position < 0 ? fill
                      : values[static_cast<size_t>(position * format.block_volume() + in_block)];
}

void keep_one_zero(std::vector<float>& values, const Format& format, float fill) {
  if (format.all_dense()) return;
  std::replace_if(
      values.begin(), values.end(), [fill](float v) { return v == fill; }, fill);
}

void round_values(Storage& storage, ElementType type) {
  if (holds_f32(type)) return;
  const auto held = [type](float v) { return same_value(rounded(v, type), v); };
  if (std::all_of(storage.values.begin(), storage.values.end(), held)) return;
  std::vector<float> values = storage.values.to_vector();
  round_all(values, type);
  keep_one_zero(values, storage.format, storage.fill);
  storage.values = Buffer<float>(std::move(values));
}

void verify(const Storage& storage) {
  check_format(storage.format, storage.rank());
  if (storage.levels.size() != storage.format.levels.size()) broken("wrong number of levels");
  int64_t parents = 1;
  for (size_t l = 0; l < storage.levels.size(); ++l) {
    const Level& level = storage.levels[l];
    const auto d = static_cast<size_t>(storage.format.mode_order[l]);
    ensure(level.kind == storage.format.levels[l], l, "its kind is not the format's");
    ensure(level.extent == storage.format.coordinates(d, storage.shape[d]), l,
           "its extent is not the shape's");
    if (level.kind == LevelKind::compressed) verify_compressed(storage, l, parents);
    if (level.kind == LevelKind::bitvector) verify_bitvector(level, l, parents);
    parents = storage.positions(static_cast<int>(l));
  }
  if (storage.stored() != parents * storage.format.block_volume()) {
    broken("values are not one per innermost position");
  }
}

void require_countable(uint64_t count, std::string_view what) {
  if (count > static_cast<uint64_t>(kMaxStored)) {
    throw Error(ExitCode::rejected,
                fmt::format("{} would have {} positions, expected at most {}; make an outer level "
                            "compressed, or split the tensor",
                            what, count, kMaxStored));
  }
}

void require_memory(uint64_t bytes, std::string_view what) {
  stop_if_larger(bytes);
  const uint64_t memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > memory) {
    throw Error(
        ExitCode::rejected,
        fmt::format("{} needs {} bytes, more than this machine's memory ({} bytes); make "
                    "an outer level compressed, or use a machine with more memory",
                    what, bytes == UINT64_MAX ? "more than 2^64" : std::to_string(bytes), memory));
  }
}

}  // namespace fuseflow
