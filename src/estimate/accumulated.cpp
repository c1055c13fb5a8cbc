// The fibers that accumulators open: the union of those that they take, or distinct tuples of
// coordinates where several loops stay.
#include <algorithm>
#include <bit>
#include <utility>

#include "estimate/chunks.h"
#include "estimate/derived.h"
#include "support/ceil_div.h"
#include "support/error.h"

namespace fuseflow::estimate {

void Deriver::accumulate() {
  if (node_.order == 1) return accumulate_one();
  bool counted = true;
  for (int i = 1; i <= node_.order; ++i) counted = counted && is_counted(ended_loop(i));
  if (!counted) return accumulate_tuples();
  return info_.order == 0 ? accumulate_one() : give_whole();
}

/// The space of loop i of those that an accumulate takes: 0 is the loop that it sums over, the
/// others are those of its result.
int Deriver::ended_loop(int i) const {
  return s_.space_of(node_.inputs[static_cast<size_t>(i) + 1].stream);
}

bool Deriver::is_counted(int space) const {
  return s_.info(space).opening == Opening::counted && s_.info(space).counted > 0;
}

/// A loop of all coordinates below each element of the loop around it.
void Deriver::give_whole() {
  const auto around = static_cast<size_t>(info_.order) - 1;
  const Table& keys =
      r_.relation(info_.parent, {s_.position_of(s_.space_of(node_.outputs[around]))});
  start(keys);
  out_.whole = true;
  const auto n = static_cast<uint64_t>(s_.info(ended_loop(info_.order + 1)).counted);
  for (size_t row = 0; row < keys.rows(); ++row) out_.pos.push_back(out_.pos.back() + n);
}

/// One output loop: the union, over the fiber of the loop that ends, of the fibers below.
void Deriver::accumulate_one() {
  const int ending = s_.space_of(node_.inputs[1].stream);
  const int loop = s_.space_of(node_.inputs[2].stream);
  const Columns below = r_.needs(loop, {});
  const Table& keys = r_.relation(info_.parent, r_.needs(ending, below));
  start(keys);
  if (s_.info(loop).opening == Opening::counted) {
    out_.whole = true;
    const auto n = static_cast<uint64_t>(s_.info(loop).counted);
    for (const Range& fiber : r_.ranges(ending, keys)) {
      out_.pos.push_back(out_.pos.back() + (fiber.count > 0 ? n : 0));
    }
    return;
  }
  out_.counts_only = false;
  unite(ending, loop, below);
}

/// The union for every row; for those that have the same fibers once.
void Deriver::unite(int ending, int loop, const Columns& below) {
  const int64_t extent = s_.info(loop).extent;
  table_value(static_cast<uint64_t>(extent));
  marks_.assign(static_cast<size_t>(ceil_div<int64_t>(extent, 64)), 0);
  const Source source = r_.source(ending, below);
  for_chunks(counts_of(source.fibers), [&](size_t first, size_t last) {
    const Expansion ended = r_.expand(ending, source, below, first, last);
    const std::vector<Range> fibers = r_.ranges(loop, ended.table);
    for (size_t row = 0; row < last - first; ++row) {
      unite_row(fibers, ended.offsets[row], ended.offsets[row + 1], extent);
    }
  });
  if (source.row_of.empty()) return;
  const std::vector<uint64_t> pos = std::exchange(out_.pos, {0});
  const std::vector<uint32_t> crd = std::exchange(out_.crd, {});
  for (const uint32_t row : source.row_of) {
    if (row != RowIndex::kNoRow) {
      out_.crd.insert(out_.crd.end(), crd.begin() + static_cast<ptrdiff_t>(pos[row]),
                      crd.begin() + static_cast<ptrdiff_t>(pos[row + 1]));
    }
    close_row();
  }
}

void Deriver::unite_row(const std::vector<Range>& fibers, size_t first, size_t last,
                        int64_t extent) {
  touched_.clear();
  for (size_t f = first; f < last && static_cast<int64_t>(touched_.size()) < extent; ++f) {
    for (uint64_t k = 0; k < fibers[f].count; ++k) {
      const auto c = static_cast<uint32_t>(fibers[f].coordinate(k));  // below the extent
      uint64_t& word = marks_[c / 64];
      const uint64_t bit = uint64_t{1} << (c % 64);
      if ((word & bit) == 0) touched_.push_back(c);
      word |= bit;
    }
  }
  if (touched_.size() > marks_.size()) {  // denser than a word each: read the words in order
    for (size_t w = 0; w < marks_.size(); ++w) {
      for (uint64_t word = marks_[w]; word != 0; word &= word - 1) {
        out_.crd.push_back(static_cast<uint32_t>(w * 64) +
                           static_cast<uint32_t>(std::countr_zero(word)));
      }
    }
  } else {
    std::sort(touched_.begin(), touched_.end());
    out_.crd.insert(out_.crd.end(), touched_.begin(), touched_.end());
  }
  for (const uint32_t c : touched_) marks_[c / 64] = 0;
  close_row();
}

/// Several output loops, some over lists: the entries of a row are distinct tuples of coordinates.
/// A loop is free if it has all coordinates and nothing inside depends on which: tuples leave it
/// out.
void Deriver::accumulate_tuples() {
  const int last = tuple_length();
  std::vector<int> loops;  // that have to be expanded, 0 the one that ends
  std::vector<Columns> wanted;
  Columns inside;
  digits_.assign(static_cast<size_t>(info_.order) + 1, {});
  for (int i = last; i >= 0; --i) {
    const int loop = ended_loop(i);
    const Column crd =
        s_.canonical[static_cast<size_t>(node_.inputs[static_cast<size_t>(i) + 1].stream)];
    const bool depends =
        std::any_of(inside.begin(), inside.end(), [&](Column c) { return s_.home(c) == loop; });
    const bool free = is_counted(loop) && !depends;
    if (i > 0 && i <= info_.order + 1) {
      digits_[static_cast<size_t>(i) - 1] = {free ? -1 : crd, s_.info(loop).extent,
                                             s_.info(loop).counted};
      if (!free) {
        inside = united(std::move(inside), {crd});
        for (Columns& further_in : wanted) further_in = united(std::move(further_in), {crd});
      }
    }
    if (free) continue;
    loops.insert(loops.begin(), loop);
    wanted.insert(wanted.begin(), inside);
    inside = r_.needs(loop, inside);
  }
  if (info_.order > 0 && digits_.back().column < 0) return give_whole();
  const Table& keys = r_.relation(s_.space_of(node_.inputs[0].stream), inside);
  if (info_.order == 0) {
    start(keys);
  } else {
    const auto around = static_cast<size_t>(info_.order) - 1;
    start(r_.relation(info_.parent, {s_.position_of(s_.space_of(node_.outputs[around]))}));
  }
  out_.counts_only = false;
  for (size_t row = 0; row < keys.rows(); ++row) {
    Table table = Relations::slice(keys, row, row + 1);
    for (size_t i = 0; i < loops.size(); ++i) {
      Grouping distinct(wanted[i]);
      distinct.add(r_.expand(loops[i], table, wanted[i]).table);
      table = distinct.take();
    }
    const std::vector<uint64_t> tuples = distinct_tuples(table);
    if (tuples.empty() && info_.order == 0) close_row();
    if (!tuples.empty()) add_tuples(tuples, 0, tuples.size(), 0);
  }
}

/// How many loops decide which entries there are: further in, fibers are never empty.
int Deriver::tuple_length() const {
  int last = node_.order;
  while (last > info_.order + 1 && is_counted(ended_loop(last))) --last;
  return last;
}

/// One number a tuple, ascending: its coordinates are the digits.
std::vector<uint64_t> Deriver::distinct_tuples(const Table& table) const {
  std::vector<uint64_t> tuples(table.rows(), 0);
  uint64_t numbers = 1;
  for (const TupleLoop& digit : digits_) {
    if (digit.column < 0) continue;
    const auto extent = static_cast<uint64_t>(std::max<int64_t>(digit.extent, 1));
    if (numbers > (uint64_t{1} << 62) / extent) {
      throw Error(ExitCode::unfinished, "an accumulator's coordinates are too many to be counted");
    }
    numbers *= extent;
    const std::vector<uint32_t>& crd = table.at(digit.column);
    for (size_t e = 0; e < tuples.size(); ++e) tuples[e] = tuples[e] * extent + crd[e];
  }
  if (numbers / 64 <= tuples.size()) return sorted_by_marks(tuples, numbers);
  std::sort(tuples.begin(), tuples.end());
  tuples.erase(std::unique(tuples.begin(), tuples.end()), tuples.end());
  return tuples;
}

std::vector<uint64_t> Deriver::sorted_by_marks(const std::vector<uint64_t>& tuples,
                                               uint64_t numbers) {
  std::vector<uint64_t> marks(numbers / 64 + 1, 0);
  for (const uint64_t tuple : tuples) marks[tuple / 64] |= uint64_t{1} << (tuple % 64);
  std::vector<uint64_t> result;
  for (size_t w = 0; w < marks.size(); ++w) {
    for (uint64_t word = marks[w]; word != 0; word &= word - 1) {
      result.push_back(w * 64 + static_cast<uint64_t>(std::countr_zero(word)));
    }
  }
  return result;
}

/// The fibers of this space's loop below the tuples [first, last), which agree in the digits before
/// `depth`: one for each shorter tuple, with every coordinate of free loops.
void Deriver::add_tuples(const std::vector<uint64_t>& tuples, size_t first, size_t last,
                         size_t depth) {
  const TupleLoop& digit = digits_[depth];
  const bool innermost = depth + 1 == digits_.size();
  if (digit.column < 0) {
    for (int64_t c = 0; c < digit.counted; ++c) {
      if (innermost) out_.crd.push_back(table_value(static_cast<uint64_t>(c)));
      if (!innermost) add_tuples(tuples, first, last, depth + 1);
    }
  } else {
    uint64_t inside = 1;
    for (size_t d = depth + 1; d < digits_.size(); ++d) {
      if (digits_[d].column >= 0) inside *= static_cast<uint64_t>(digits_[d].extent);
    }
    const auto extent = static_cast<uint64_t>(digit.extent);
    for (size_t next = first; first < last; first = next) {
      const uint64_t c = tuples[first] / inside;
      while (next < last && tuples[next] / inside == c) ++next;
      if (innermost) out_.crd.push_back(static_cast<uint32_t>(c % extent));
      if (!innermost) add_tuples(tuples, first, next, depth + 1);
    }
  }
  if (innermost) close_row();
}

}  // namespace fuseflow::estimate
