#include "estimate/derived.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "estimate/chunks.h"
#include "estimate/filter_rule.h"
#include "nodes/rule.h"
#include "support/error.h"
#include "tensor/gallop.h"

namespace fuseflow::estimate {

namespace {

/// Coordinates of each row over all groups.
std::vector<size_t> sums(const std::vector<std::vector<Range>>& groups, size_t rows) {
  std::vector<size_t> result(rows, 0);
  for (const std::vector<Range>& fibers : groups) {
    for (size_t row = 0; row < rows; ++row) result[row] += fibers[row].count;
  }
  return result;
}

}  // namespace

uint64_t common_coordinates(const Range& a, const Range& b, int64_t extent) {
  if (a.whole(extent) || b.whole(extent)) return std::min(a.count, b.count);
  uint64_t both = 0;
  uint64_t i = 0;
  uint64_t j = 0;
  while (i < a.count && j < b.count) {
    const uint64_t x = a.coordinate(i);
    const uint64_t y = b.coordinate(j);
    both += x == y ? 1 : 0;
    i += x <= y ? 1 : 0;
    j += y <= x ? 1 : 0;
  }
  return both;
}

DerivedFibers Deriver::run() {
  out_.extent = info_.extent;
  out_.counts_only = !info_.elements;
  if (const JoinRule* join_kind = join_rule(node_.kind)) {
    if (join_kind->by_words) out_.counts_only = false;  // words depend on which coordinates it has
    collect_join_payloads();
    std::vector<int> groups;
    size_t at = 0;
    for (const int group : node_.groups) {
      groups.push_back(s_.space_of(node_.inputs[at].stream));
      at += static_cast<size_t>(group);
    }
    join(groups);
    return std::move(out_);
  }
  switch (node_.kind) {
    case NodeKind::accumulate:
      accumulate();
      break;
    case NodeKind::gallop:
      gallop();
      break;
    case NodeKind::filter:
      filter();
      break;
    case NodeKind::parallelize:
      split();
      break;
    case NodeKind::drop:
      drop();
      break;
    case NodeKind::serialize:
      out_.counts_only = false;
      merge();
      break;
    default:
      throw Error(ExitCode::internal, "estimate: a node opens fibers it should not");
  }
  return std::move(out_);
}

void Deriver::start(const Table& keys) {
  out_.key = keys.columns;
  out_.index.build(keys);
  out_.pos = {0};
  out_.pos.reserve(keys.rows() + 1);
  for (const Payload& payload : payloads_) out_.payload[payload.column];
}

void Deriver::close_row() {
  out_.pos.push_back(out_.crd.size());
}

void Deriver::add_payload(Column column, size_t group, Column source) {
  for (Payload& payload : payloads_) {
    if (payload.column != column) continue;
    payload.source.resize(std::max(payload.source.size(), group + 1), -1);
    payload.source[group] = source;
    return;
  }
  payloads_.push_back({column, std::vector<Column>(group + 1, -1)});
  payloads_.back().source[group] = source;
}

Columns Deriver::sources(size_t group) const {
  Columns result;
  for (const Payload& payload : payloads_) {
    if (group < payload.source.size() && payload.source[group] >= 0) {
      result.push_back(payload.source[group]);
    }
  }
  return united({}, result);
}

// --- joins

/// Payloads that matter further down, of every node that gives streams of this space.
void Deriver::collect_join_payloads() {
  size_t at = 0;
  size_t port = 1;
  for (size_t g = 0; g < node_.groups.size(); ++g) {
    const auto size = static_cast<size_t>(node_.groups[g]);
    for (size_t k = 1; k < size; ++k, ++port) {
      const StreamId out = node_.outputs[port];
      if (!s_.structural[static_cast<size_t>(out)]) continue;
      add_payload(out, g, s_.canonical[static_cast<size_t>(node_.inputs[at + k].stream)]);
    }
    at += size;
  }
}

void Deriver::join(const std::vector<int>& groups) {
  Columns key;
  for (size_t g = 0; g < groups.size(); ++g) {
    key = united(std::move(key), r_.needs(groups[g], sources(g)));
  }
  const Table& keys = r_.relation(info_.parent, key);
  start(keys);
  out_.met.reserve(keys.rows());
  std::vector<std::vector<Range>> fibers;
  fibers.reserve(groups.size());
  for (const int group : groups) fibers.push_back(r_.ranges(group, keys));
  if (out_.counts_only && groups.size() == 2) {
    for (size_t row = 0; row < keys.rows(); ++row) count_row(fibers[0][row], fibers[1][row]);
    return;
  }
  out_.counts_only = false;
  const std::vector<size_t> sizes = sums(fibers, keys.rows());
  for_chunks(sizes, [&](size_t first, size_t last) {
    std::vector<Expansion> elements;
    for (size_t g = 0; g < groups.size(); ++g) {
      elements.push_back(r_.expand(groups[g], keys, sources(g), first, last));
    }
    std::vector<std::vector<Range>> part;
    part.reserve(fibers.size());
    for (const auto& group : fibers) {
      part.emplace_back(group.begin() + static_cast<ptrdiff_t>(first),
                        group.begin() + static_cast<ptrdiff_t>(last));
    }
    for (size_t row = 0; row < last - first; ++row) merge_row(row, part, elements);
  });
}

bool Deriver::keeps(size_t having, bool first) const {
  return join_rule(node_.kind)->keeps(having, node_.groups.size(), first);
}

/// Only how many coordinates both have, and how many are met.
void Deriver::count_row(const Range& a, const Range& b) {
  const uint64_t both = common_coordinates(a, b, info_.extent);
  const uint64_t met = a.count + b.count - both;
  const uint64_t kept = (keeps(2, true) ? both : 0) + (keeps(1, true) ? a.count - both : 0) +
                        (keeps(1, false) ? b.count - both : 0);
  out_.pos.push_back(out_.pos.back() + kept);
  out_.met.push_back(static_cast<double>(met));
}

void Deriver::merge_row(size_t row, const std::vector<std::vector<Range>>& fibers,
                        const std::vector<Expansion>& elements) {
  const size_t n = fibers.size();
  std::vector<uint64_t> at(n, 0);
  double met = 0;
  for (;;) {
    uint64_t least = ~uint64_t{0};
    for (size_t g = 0; g < n; ++g) {
      if (at[g] < fibers[g][row].count) {
        least = std::min(least, fibers[g][row].coordinate(at[g]));
      }
    }
    if (least == ~uint64_t{0}) break;
    ++met;
    std::vector<bool> has(n, false);
    size_t having = 0;
    for (size_t g = 0; g < n; ++g) {
      has[g] = at[g] < fibers[g][row].count && fibers[g][row].coordinate(at[g]) == least;
      having += has[g] ? 1 : 0;
    }
    if (keeps(having, has[0])) {
      out_.crd.push_back(table_value(least));
      for (const Payload& payload : payloads_) {
        uint32_t value = kAbsent;
        for (size_t g = 0; g < payload.source.size(); ++g) {
          if (payload.source[g] < 0 || !has[g]) continue;
          value = elements[g].table.at(payload.source[g])[elements[g].offsets[row] + at[g]];
        }
        out_.payload[payload.column].push_back(value);
      }
    }
    for (size_t g = 0; g < n; ++g) at[g] += has[g] ? 1 : 0;
  }
  out_.met.push_back(met);
  close_row();
}

// --- galloping

/// The fiber of a compressed level.
Range Deriver::listed(TensorId tensor, int level, uint32_t reference) {
  if (reference == kAbsent) return {};
  const LevelLists& lists = r_.level(tensor, level);
  const uint32_t begin = (*lists.pos)[reference];
  return {lists.crd->data() + begin, begin, uint64_t{(*lists.pos)[reference + 1]} - begin, 0};
}

void Deriver::gallop() {
  const Column first = s_.canonical[static_cast<size_t>(node_.inputs[0].stream)];
  const Column second = s_.canonical[static_cast<size_t>(node_.inputs[1].stream)];
  const Table& keys = r_.relation(info_.parent, united({first}, {second}));
  start(keys);
  out_.gallops.resize(keys.rows());
  const std::array<Column, 2> given{node_.outputs[1], node_.outputs[2]};
  for (size_t row = 0; row < keys.rows(); ++row) {
    const std::array<uint32_t, 2> references{keys.at(first)[row], keys.at(second)[row]};
    const std::array<Range, 2> fibers{listed(node_.tensor, node_.level, references[0]),
                                      listed(node_.other_tensor, node_.other_level, references[1])};
    Gallop gallop(fibers[0].crd, static_cast<uint32_t>(fibers[0].count), fibers[1].crd,
                  static_cast<uint32_t>(fibers[1].count));
    GallopCounts& counts = out_.gallops[row];
    counts.entered = references[0] != kAbsent && references[1] != kAbsent;
    uint32_t found = 0;
    while (counts.entered && !gallop.over()) {
      ++counts.looks;
      if (!gallop.step([&](int, uint32_t) { ++counts.looked_at; })) continue;
      ++found;
      if (out_.counts_only) continue;
      out_.crd.push_back(fibers[0].crd[gallop.found(0)]);
      for (size_t i = 0; i < 2; ++i) {
        const uint64_t at = fibers[i].first + gallop.found(static_cast<int>(i));
        out_.payload[given[i]].push_back(table_value(at));
      }
    }
    counts.jumps = static_cast<double>(gallop.jumps());
    counts.passed = static_cast<double>(gallop.passed());
    out_.pos.push_back(out_.pos.back() + found);
  }
}

// --- accumulators

void Deriver::accumulate() {
  if (node_.order == 1) return accumulate_one();
  bool counted = true;
  for (int i = 1; i <= node_.order; ++i) counted = counted && is_counted(ended_loop(i));
  if (!counted) return accumulate_tuples();
  return info_.order == 0 ? accumulate_one() : give_whole();
}

/// Of the loops that an accumulate takes: 0 is the one that ends, the others are those of its
/// result.
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
  marks_.assign(static_cast<size_t>(extent + 63) / 64, 0);
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
  for (const Digit& digit : digits_) {
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
  const Digit& digit = digits_[depth];
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

// --- spaces with some of another's elements

void Deriver::keep_some(int from, const Columns& columns,
                        const std::function<Keep(const Expansion&)>& rule) {
  const Columns wanted = united(sources(0), columns);
  const Table& keys = r_.relation(info_.parent, r_.needs(from, wanted));
  start(keys);
  out_.counts_only = false;
  const std::vector<Range> fibers = r_.ranges(from, keys);
  for_chunks(counts_of(fibers), [&](size_t first, size_t last) {
    const Expansion elements = r_.expand(from, keys, wanted, first, last);
    const Keep keep = rule(elements);
    std::vector<const uint32_t*> payloads;  // what each is filled from, by element
    for (const Payload& payload : payloads_) {
      payloads.push_back(elements.table.at(payload.source[0]).data());
    }
    for (size_t row = first; row < last; ++row) {
      for (uint64_t k = 0; k < fibers[row].count; ++k) {
        const size_t e = elements.offsets[row - first] + k;
        const uint32_t c = table_value(fibers[row].coordinate(k));
        if (!keep(c, e)) continue;
        out_.crd.push_back(c);
        for (size_t i = 0; i < payloads.size(); ++i) {
          out_.payload[payloads_[i].column].push_back(payloads[i][e]);
        }
      }
      close_row();
    }
  });
}

/// Values are not computed: FilterRule says what follows from absent operands; of what a rectifier
/// gives, every other value is taken to be the fill.
void Deriver::filter() {
  for (size_t i = 0; i < node_.outputs.size(); ++i) {
    if (!s_.structural[static_cast<size_t>(node_.outputs[i])]) continue;
    add_payload(node_.outputs[i], 0, s_.canonical[static_cast<size_t>(node_.inputs[i + 1].stream)]);
  }
  const FilterRule rule(s_, node_);
  const std::vector<Column>& references = rule.references();
  const auto keep_of = [&](const Expansion& elements) -> Keep {
    std::vector<const uint32_t*> refs;
    refs.reserve(references.size());
    for (const Column c : references) refs.push_back(elements.table.at(c).data());
    return [&rule, refs](uint32_t c, size_t e) {
      uint32_t absent = 0;
      for (size_t i = 0; i < refs.size(); ++i) absent |= (refs[i][e] == kAbsent ? 1U : 0U) << i;
      if (rule.drops(absent)) return false;
      return !rule.halves() ||
             std::popcount((c + 1) * 0x9e3779b9U ^ static_cast<uint32_t>(e)) % 2 == 0;
    };
  };
  keep_some(s_.space_of(node_.inputs[0].stream), united({}, references), keep_of);
}

/// In turn, the copies get one element after another, copy 0 the first (as in the first fiber of
/// all); contiguous, ranges of coordinates.
void Deriver::split() {
  const auto copies = static_cast<int64_t>(node_.outputs.size());
  int64_t copy = 0;
  for (int64_t p = 0; p < copies; ++p) {
    if (s_.space_of(node_.outputs[static_cast<size_t>(p)]) == space_) copy = p;
  }
  for (const Node& node : s_.graph->nodes) {
    if (node.kind != NodeKind::parallelize) continue;
    for (const StreamId out : node.outputs) {
      if (s_.space_of(out) != space_ || !s_.structural[static_cast<size_t>(out)]) continue;
      add_payload(out, 0, s_.canonical[static_cast<size_t>(node.inputs[0].stream)]);
    }
  }
  const int64_t extent = info_.extent;
  const bool ranges = node_.contiguous;
  keep_some(s_.space_of(node_.inputs[0].stream), {}, [=](const Expansion& elements) -> Keep {
    auto fiber = std::make_shared<size_t>(0);
    return [=, offsets = &elements.offsets](uint32_t c, size_t e) {
      if (ranges) return owning_copy(c, extent, copies) == copy;
      while (e >= (*offsets)[*fiber + 1]) ++*fiber;
      return static_cast<int64_t>(e - (*offsets)[*fiber]) % copies == copy;
    };
  });
}

/// What the moved spaces below need of the elements that they hang from.
Columns Deriver::wanted_below() const {
  std::map<int, Columns> wanted;           // by space before the move
  std::vector<std::pair<int, int>> below;  // (depth, origin)
  for (const auto& [key, moved] : s_.moved) {
    if (key.first != dropped() || moved == space_) continue;
    below.emplace_back(s_.spaces.spaces[static_cast<size_t>(key.second)].depth, key.second);
  }
  for (Column c = 0; c < static_cast<Column>(s_.structural.size()); ++c) {
    const Column canonical = s_.canonical[static_cast<size_t>(c)];
    if (!s_.structural[static_cast<size_t>(c)] || canonical < 0) continue;
    const ColumnInfo& info = s_.column(canonical);
    if (info.kind == ColumnInfo::Kind::transport && info.move == dropped()) {
      Columns& set = wanted[s_.home(info.base)];
      set = united(std::move(set), {info.base});
    }
  }
  std::sort(below.rbegin(), below.rend());
  Columns all;
  for (const auto& [depth, origin] : below) {
    Columns& outer = wanted[s_.info(origin).parent];
    outer = united(std::move(outer), r_.needs(origin, wanted[origin]));
  }
  const int from = s_.space_of(node_.inputs[0].stream);
  return wanted[from];
}

void Deriver::drop() {
  const int from = s_.space_of(node_.inputs[0].stream);
  const auto outer = static_cast<size_t>(node_.groups[0]);
  for (size_t i = 0; i < outer; ++i) {
    if (!s_.structural[static_cast<size_t>(node_.outputs[i])]) continue;
    add_payload(node_.outputs[i], 0, s_.canonical[static_cast<size_t>(node_.inputs[i].stream)]);
  }
  for (const Column base : wanted_below()) {
    const Column column = s_.transported(base, dropped());
    if (column != base) add_payload(column, 0, base);
  }
  const int inner = s_.space_of(node_.inputs[outer].stream);
  keep_some(from, r_.needs(inner, {}), [this, inner](const Expansion& elements) -> Keep {
    auto fibers = std::make_shared<std::vector<Range>>(r_.ranges(inner, elements.table));
    return [fibers](uint32_t, size_t e) { return (*fibers)[e].count > 0; };
  });
}

}  // namespace fuseflow::estimate
