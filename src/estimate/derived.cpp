#include "estimate/derived.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "estimate/chunks.h"
#include "estimate/filter_rule.h"
#include "nodes/rule.h"
#include "support/defect.h"
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
    for (const InputGroup& group : groups_of(node_)) {
      groups.push_back(s_.space_of(node_.inputs[group.first].stream));
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
      throw Defect("estimate: a node opens fibers it should not");
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
  const std::vector<InputGroup> groups = groups_of(node_);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t k = 1; k < groups[g].size; ++k) {
      const StreamId out = node_.outputs[groups[g].port + k - 1];
      if (!s_.structural[static_cast<size_t>(out)]) continue;
      const StreamId in = node_.inputs[groups[g].first + k].stream;
      add_payload(out, g, s_.canonical[static_cast<size_t>(in)]);
    }
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
