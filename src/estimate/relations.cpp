#include "estimate/relations.h"
#include "estimate/count_within.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "estimate/derived.h"
#include "nodes/rule.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

std::vector<size_t> offsets_of(const std::vector<Range>& ranges) {
  std::vector<size_t> offsets(ranges.size() + 1, 0);
  for (size_t r = 0; r < ranges.size(); ++r) offsets[r + 1] = offsets[r] + ranges[r].count;
  return offsets;
}

/// The position of a coordinate below a reference to a dense level.
uint32_t dense_position(uint64_t ref, uint64_t width, uint64_t coordinate) {
  if (ref > 0 && width > kAbsent) return table_value(width);
  return table_value(ref * width + coordinate);
}

/// References `refs` to the coordinates `at` below them in a dense level; kAbsent outside of it.
void locate_dense(int64_t extent, const std::vector<int64_t>& at, std::vector<uint32_t>& refs) {
  const auto width = static_cast<uint64_t>(extent);
  for (size_t e = 0; e < refs.size(); ++e) {
    const auto c = static_cast<uint64_t>(at[e]);  // a negative one is beyond any extent
    refs[e] = refs[e] == kAbsent || c >= width ? kAbsent : dense_position(refs[e], width, c);
  }
}

/// The position of a coordinate in a fiber of a level that lists coordinates; kAbsent: it has none.
uint32_t look_up(const LevelLists& level, uint32_t ref, int64_t c) {
  if (ref == kAbsent || c < 0 || c >= level.extent) return kAbsent;
  const std::vector<uint32_t>& crd = *level.crd;
  if (level.kind == LevelKind::singleton) return crd[ref] == c ? ref : kAbsent;
  const auto first = crd.begin() + (*level.pos)[ref];
  const auto last = crd.begin() + (*level.pos)[ref + 1];
  const auto at = std::lower_bound(first, last, static_cast<uint32_t>(c));
  return at != last && *at == c ? static_cast<uint32_t>(at - crd.begin()) : kAbsent;
}

/// The position of every element of the fibers.
std::vector<uint32_t> positions(const std::vector<Range>& fibers,
                                const std::vector<size_t>& offsets) {
  std::vector<uint32_t> out(offsets.back());
  auto to = out.begin();
  for (const Range& fiber : fibers) {
    if (fiber.count == 0) continue;
    table_value(fiber.first + fiber.count - 1);
    const auto end = to + static_cast<ptrdiff_t>(fiber.count);
    std::iota(to, end, static_cast<uint32_t>(fiber.first));
    to = end;
  }
  return out;
}

/// Its coordinate.
std::vector<uint32_t> coordinates(const std::vector<Range>& fibers,
                                  const std::vector<size_t>& offsets) {
  std::vector<uint32_t> out(offsets.back());
  auto to = out.begin();
  for (const Range& fiber : fibers) {
    if (fiber.count == 0) continue;
    table_value(fiber.coordinate(fiber.count - 1));  // the largest
    const auto base = static_cast<uint32_t>(fiber.base);
    const auto end = to + static_cast<ptrdiff_t>(fiber.count);
    if (fiber.crd == nullptr) {
      std::iota(to, end, base);
    } else {
      std::transform(fiber.crd, fiber.crd + fiber.count, to, [&](uint32_t c) { return base + c; });
    }
    to = end;
  }
  return out;
}

/// What `payload` has at its position.
std::vector<uint32_t> chosen(const std::vector<uint32_t>& payload, const std::vector<Range>& fibers,
                             const std::vector<size_t>& offsets) {
  std::vector<uint32_t> out(offsets.back());
  auto to = out.begin();
  for (const Range& fiber : fibers) {
    to = std::copy_n(payload.begin() + static_cast<ptrdiff_t>(fiber.first), fiber.count, to);
  }
  return out;
}

/// The elements of a dense or listed fiber whose coordinate + offset is in 0 .. loop - 1.
Range clipped(Range fiber, int64_t offset, int64_t loop) {
  if (fiber.crd == nullptr) {
    const auto count = static_cast<int64_t>(fiber.count);
    const int64_t begin = std::clamp<int64_t>(-offset, 0, count);
    const int64_t end = std::clamp<int64_t>(loop - offset, begin, count);
    return {nullptr, fiber.first + static_cast<uint64_t>(begin), static_cast<uint64_t>(end - begin),
            static_cast<uint64_t>(offset + begin)};
  }
  const auto coordinate = [&](uint64_t k) { return offset + fiber.crd[k]; };
  uint64_t begin = 0;
  uint64_t end = fiber.count;
  if (offset < 0 || (end > 0 && coordinate(end - 1) >= loop)) {
    while (begin < end && coordinate(begin) < 0) ++begin;
    while (end > begin && coordinate(end - 1) >= loop) --end;
  }
  return {fiber.crd + begin, fiber.first + begin, end - begin, static_cast<uint64_t>(offset)};
}

}  // namespace

uint32_t table_value(uint64_t value) {
  if (value >= kAbsent) {
    throw Error(ExitCode::unfinished,
                "counting from the data takes coordinates and positions below 2^32 - 1; use "
                "--statistics");
  }
  return static_cast<uint32_t>(value);
}

Relations::Relations(const Program& program, const Graph& graph, const TensorData& data,
                     const Limits& limits)
    : program_(program),
      graph_(graph),
      data_(data),
      limits_(limits),
      s_(analyse_structure(program, graph)) {}

Relations::~Relations() = default;

int64_t Relations::extent(const Tensor& tensor, int l) {
  return tensor.level_extent(static_cast<size_t>(l));
}

const LevelLists& Relations::level(TensorId tensor, int l) {
  const auto found = levels_.find({tensor, l});
  if (found != levels_.end()) return *found->second;
  auto entry = std::make_unique<LevelLists>();
  const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
  entry->kind = t.format.levels[static_cast<size_t>(l)];
  entry->extent = extent(t, l);
  const auto keep = [&]() -> const LevelLists& {
    return *levels_.emplace(std::pair(tensor, l), std::move(entry)).first->second;
  };
  if (entry->kind == LevelKind::dense) return keep();
  const Storage* storage = data_.find(tensor);
  if (storage == nullptr && missing) storage = missing(tensor);
  if (storage == nullptr) {
    throw Error(ExitCode::rejected, "the data of tensor %" + t.name + " is not known");
  }
  const Level& stored = storage->levels[static_cast<size_t>(l)];
  entry->pos = &stored.pos;
  entry->crd = &stored.crd;
  if (entry->kind == LevelKind::bitvector) {
    const auto words = static_cast<size_t>(stored.words_per_fiber());
    for (size_t w = 0; w < stored.words.size(); ++w) {
      for (uint64_t word = stored.words[w]; word != 0; word &= word - 1) {
        entry->bits.push_back(static_cast<uint32_t>(w % words * 64) +
                              static_cast<uint32_t>(std::countr_zero(word)));
      }
    }
    entry->crd = &entry->bits;
  }
  return keep();
}

Table Relations::slice(const Table& table, size_t first, size_t last) {
  Table part;
  part.columns = table.columns;
  for (const auto& column : table.values) {
    part.values.emplace_back(column.begin() + static_cast<ptrdiff_t>(first),
                             column.begin() + static_cast<ptrdiff_t>(last));
  }
  part.weight.assign(table.weight.begin() + static_cast<ptrdiff_t>(first),
                     table.weight.begin() + static_cast<ptrdiff_t>(last));
  return part;
}

// --- what depends on what

Columns Relations::fiber_key(int space) {
  const SpaceInfo& info = s_.info(space);
  switch (info.opening) {
    case Opening::root:
    case Opening::counted:
      return {};
    case Opening::scanned:
      return {s_.canonical[static_cast<size_t>(s_.node(info.opener).inputs[0].stream)]};
    case Opening::computed:
    case Opening::merged:
      return derived(space).key;
    case Opening::moved: {
      Columns key;
      for (const Column c : needs(info.origin, {})) key.push_back(s_.transported(c, info.move));
      if (presence_or_none(info.move) >= 0) key.push_back(presence_or_none(info.move));
      return united({}, key);
    }
  }
  return {};
}

Columns Relations::needs(int space, const Columns& columns) {
  Columns result = fiber_key(space);
  for (const Column c : columns) result = united(std::move(result), support(space, c));
  return result;
}

Column Relations::presence_or_none(int move) {
  return aligner(move) == nullptr ? -1 : s_.presence_at(move);
}

const Node* Relations::aligner(int move) const {
  const NodeId align = s_.move(move).align;
  return align < 0 ? nullptr : &s_.node(align);
}

Columns Relations::support(int space, Column column) {
  const ColumnInfo info = s_.column(column);
  if (info.home != space) return {column};
  switch (info.kind) {
    case ColumnInfo::Kind::position:
      return {};
    case ColumnInfo::Kind::presence:
    case ColumnInfo::Kind::transport: {
      if (space != s_.move(info.move).top) {
        Columns result;
        for (const Column c : needs(s_.info(space).origin, {info.base})) {
          result.push_back(s_.transported(c, info.move));
        }
        return united({}, result);
      }
      const Node* node = aligner(info.move);
      if (node == nullptr) return {};  // drop: a payload
      Columns wanted = {s_.canonical[static_cast<size_t>(node->inputs[1].stream)]};
      if (info.base >= 0) wanted = united(std::move(wanted), {info.base});
      return united(needs(s_.space_of(node->inputs[1].stream), wanted),
                    support(space, s_.canonical[static_cast<size_t>(node->inputs[0].stream)]));
    }
    case ColumnInfo::Kind::stream:
      break;
  }
  const Node& node = s_.node(graph_.streams[static_cast<size_t>(column)].producer);
  Columns result;
  if (node.kind == NodeKind::scan && s_.info(space).opening == Opening::counted &&
      column != node.outputs[0] && node.tensor >= 0) {
    result = {s_.canonical[static_cast<size_t>(node.inputs[0].stream)]};
  } else if (joins_in_first_space(node.kind)) {
    const auto [crd, payload] = joined_inputs(node, column);
    const Columns wanted = united({s_.canonical[static_cast<size_t>(crd)]},
                                  {s_.canonical[static_cast<size_t>(payload)]});
    result = united(needs(s_.space_of(crd), wanted),
                    support(space, s_.canonical[static_cast<size_t>(node.inputs[0].stream)]));
  } else if (node.kind == NodeKind::locate) {
    for (const Input& input : node.inputs) {
      result = united(std::move(result),
                      support(space, s_.canonical[static_cast<size_t>(input.stream)]));
    }
  }
  return result;
}

// --- relations and expansions

Expansion Relations::expand(int space, const Table& parent, const Columns& columns) {
  return expand(space, parent, ranges(space, parent), columns);
}

Expansion Relations::expand(int space, const Table& parent, const Columns& columns, size_t first,
                            size_t last) {
  if (first == 0 && last == parent.rows()) return expand(space, parent, columns);
  return expand(space, slice(parent, first, last), columns);
}

Expansion Relations::expand(int space, const Source& source, const Columns& columns, size_t first,
                            size_t last) {
  if (first == 0 && last == source.fibers.size()) {
    return expand(space, source.parent, source.fibers, columns);
  }
  const std::vector<Range> fibers(source.fibers.begin() + static_cast<ptrdiff_t>(first),
                                  source.fibers.begin() + static_cast<ptrdiff_t>(last));
  return expand(space, slice(source.parent, first, last), fibers, columns);
}

Expansion Relations::expand(int space, const Table& parent, const std::vector<Range>& fibers,
                            const Columns& columns) {
  Expansion result;
  result.offsets = offsets_of(fibers);
  rows_made_ += result.offsets.back();
  if (result.offsets.back() > limits_.rows || rows_made_ > limits_.all_rows) {
    refuse_rows();
  }
  result.table.columns = columns;
  for (const Column c : columns) {
    result.table.values.push_back(evaluate(space, c, parent, fibers, result.offsets));
  }
  result.table.weight.resize(result.offsets.back());
  auto to = result.table.weight.begin();
  for (size_t r = 0; r < fibers.size(); ++r)
    to = std::fill_n(to, fibers[r].count, parent.weight[r]);
  return result;
}

// --- fibers

std::vector<Range> Relations::ranges(int space, const Table& parent) {
  const SpaceInfo& info = s_.info(space);
  switch (info.opening) {
    case Opening::root:
      break;
    case Opening::counted:
      return std::vector<Range>(parent.rows(),
                                {nullptr, 0, static_cast<uint64_t>(info.counted), 0});
    case Opening::scanned:
      return scan_ranges(s_.node(info.opener), info.extent, parent);
    case Opening::computed:
    case Opening::merged:
      return derived_ranges(space, parent);
    case Opening::moved: {
      std::vector<Range> result =
          ranges(info.origin, before_move(space, parent, needs(info.origin, {})));
      if (const Column presence = presence_or_none(info.move); presence >= 0) {
        const std::vector<uint32_t>& there = parent.at(presence);
        for (size_t r = 0; r < result.size(); ++r) {
          if (there[r] != 1) result[r] = {};
        }
      }
      return result;
    }
  }
  return {};
}

std::vector<Range> Relations::scan_ranges(const Node& node, int64_t loop, const Table& parent) {
  const std::vector<uint32_t>& refs =
      parent.at(s_.canonical[static_cast<size_t>(node.inputs[0].stream)]);
  std::vector<Range> result(refs.size());
  if (node.tensor < 0) {
    for (size_t r = 0; r < refs.size(); ++r) {
      if (refs[r] != kAbsent) result[r] = {nullptr, 0, static_cast<uint64_t>(loop), 0};
    }
    return result;
  }
  const LevelLists& lists = level(node.tensor, node.level);
  const uint32_t* crd = lists.crd == nullptr ? nullptr : lists.crd->data();
  for (size_t r = 0; r < refs.size(); ++r) {
    const uint32_t ref = refs[r];
    if (ref == kAbsent) continue;
    Range fiber;
    if (lists.kind == LevelKind::dense) {
      const auto extent = static_cast<uint64_t>(lists.extent);
      fiber = {nullptr, ref * extent, extent, 0};
    } else if (lists.kind == LevelKind::singleton) {
      fiber = {crd + ref, ref, 1, 0};
    } else {
      const uint32_t begin = (*lists.pos)[ref];
      fiber = {crd + begin, begin, uint64_t{(*lists.pos)[ref + 1]} - begin, 0};
    }
    result[r] = clipped(fiber, node.offset, loop);
  }
  return result;
}

std::vector<Range> Relations::derived_ranges(int space, const Table& parent) {
  DerivedFibers& fibers = derived(space);
  const SpaceInfo& info = s_.info(space);
  const bool by_position = info.order > 0 && s_.node(info.opener).kind == NodeKind::accumulate;
  const std::vector<uint32_t> rows =
      by_position ? parent.at(fibers.key[0]) : fibers.index.find(parent);
  std::vector<Range> result(parent.rows());
  for (size_t r = 0; r < rows.size(); ++r) {
    const uint32_t row = rows[r];
    if (row == RowIndex::kNoRow) continue;
    const uint64_t first = fibers.pos[row];
    const uint64_t count = fibers.pos[row + 1] - first;
    const bool listed = !fibers.whole && !fibers.counts_only;
    result[r] = {listed ? fibers.crd.data() + first : nullptr, first, count, 0};
  }
  return result;
}

Table Relations::before_move(int space, const Table& parent, const Columns& origin_columns) {
  Table before;
  before.columns = origin_columns;
  for (const Column c : origin_columns) {
    before.values.push_back(parent.at(s_.transported(c, s_.info(space).move)));
  }
  before.weight = parent.weight;
  return before;
}

DerivedFibers& Relations::derived(int space) {
  auto found = derived_.find(space);
  if (found == derived_.end()) {
    auto fibers = std::make_unique<DerivedFibers>(Deriver(*this, space).run());
    found = derived_.emplace(space, std::move(fibers)).first;
  }
  return *found->second;
}

// --- columns

std::vector<uint32_t> Relations::evaluate(int space, Column column, const Table& parent,
                                          const std::vector<Range>& fibers,
                                          const std::vector<size_t>& offsets) {
  const ColumnInfo info = s_.column(column);
  std::vector<uint32_t> out;
  if (info.home != space) {
    out.resize(offsets.back());
    const std::vector<uint32_t>& values = parent.at(column);
    auto to = out.begin();
    for (size_t r = 0; r < fibers.size(); ++r) to = std::fill_n(to, fibers[r].count, values[r]);
    return out;
  }
  switch (info.kind) {
    case ColumnInfo::Kind::position:
      return positions(fibers, offsets);
    case ColumnInfo::Kind::presence:
    case ColumnInfo::Kind::transport:
      return evaluate_moved(space, column, parent, fibers, offsets);
    case ColumnInfo::Kind::stream:
      break;
  }
  return evaluate_stream(space, column, parent, fibers, offsets);
}

std::vector<uint32_t> Relations::evaluate_stream(int space, Column column, const Table& parent,
                                                 const std::vector<Range>& fibers,
                                                 const std::vector<size_t>& offsets) {
  const NodeId producer = graph_.streams[static_cast<size_t>(column)].producer;
  const Node& node = s_.node(producer);
  if (node.kind == NodeKind::locate) return evaluate_locate(space, node, parent, fibers, offsets);
  if (joins_in_first_space(node.kind)) {
    return evaluate_left(space, column, node, parent, fibers, offsets);
  }
  const bool computed =
      s_.info(space).opening == Opening::computed || s_.info(space).opening == Opening::merged;
  if (computed) {
    const DerivedFibers& derived_fibers = derived(space);
    const auto payload = derived_fibers.payload.find(column);
    if (payload != derived_fibers.payload.end()) return chosen(payload->second, fibers, offsets);
    if (derived_fibers.counts_only) {
      throw Defect("estimate: elements of a space that only counts");
    }
  }
  if (computed || column == node.outputs[0] || node.tensor < 0) return coordinates(fibers, offsets);
  if (s_.info(space).opening != Opening::counted) return positions(fibers, offsets);
  const std::vector<uint32_t>& refs =
      parent.at(s_.canonical[static_cast<size_t>(node.inputs[0].stream)]);
  const auto extent = static_cast<uint64_t>(level(node.tensor, node.level).extent);
  std::vector<uint32_t> out(offsets.back());
  for (size_t r = 0; r < fibers.size(); ++r) {
    if (fibers[r].count == 0) continue;
    dense_position(refs[r], extent, fibers[r].count - 1);  // the largest
    const auto first = out.begin() + static_cast<ptrdiff_t>(offsets[r]);
    std::iota(first, first + static_cast<ptrdiff_t>(fibers[r].count),
              static_cast<uint32_t>(refs[r] * extent));
  }
  return out;
}

std::vector<uint32_t> Relations::evaluate_locate(int space, const Node& node, const Table& parent,
                                                 const std::vector<Range>& fibers,
                                                 const std::vector<size_t>& offsets) {
  const auto input = [&](size_t i) {
    return evaluate(space, s_.canonical[static_cast<size_t>(node.inputs[i].stream)], parent, fibers,
                    offsets);
  };
  std::vector<uint32_t> refs = input(0);
  std::vector<int64_t> at(refs.size(), node.offset);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const int64_t stride = i == 1 ? node.stride : node.strides[i - 2];
    const std::vector<uint32_t> coordinates = input(i);
    for (size_t e = 0; e < at.size(); ++e) at[e] += stride * static_cast<int64_t>(coordinates[e]);
  }
  const LevelLists& lists = level(node.tensor, node.level);
  if (lists.kind == LevelKind::dense) {
    locate_dense(lists.extent, at, refs);
  } else {
    for (size_t e = 0; e < refs.size(); ++e) refs[e] = look_up(lists, refs[e], at[e]);
  }
  return refs;
}

std::vector<uint32_t> Relations::evaluate_moved(int space, Column column, const Table& parent,
                                                const std::vector<Range>& fibers,
                                                const std::vector<size_t>& offsets) {
  const ColumnInfo info = s_.column(column);
  if (space != s_.move(info.move).top) {
    const int origin = s_.info(space).origin;
    const Table before = before_move(space, parent, needs(origin, {info.base}));
    return evaluate(origin, info.base, before, fibers, offsets);
  }
  const Node* node = aligner(info.move);
  if (node == nullptr) return chosen(derived(space).payload.at(column), fibers, offsets);
  const Column to_crd = s_.canonical[static_cast<size_t>(node->inputs[0].stream)];
  const std::vector<uint32_t> to = evaluate(space, to_crd, parent, fibers, offsets);
  return look_across(to, offsets, node->inputs[1].stream, info.base, parent);
}

std::pair<StreamId, StreamId> Relations::joined_inputs(const Node& node, Column column) const {
  for (const auto& [at, size, port] : groups_of(node)) {
    for (size_t k = 1; k < size; ++k) {
      if (node.outputs[port + k - 1] != column) continue;
      return {node.inputs[at].stream, node.inputs[at + k].stream};
    }
  }
  throw Defect("estimate: a left join lacks an output");
}

std::vector<uint32_t> Relations::evaluate_left(int space, Column column, const Node& node,
                                               const Table& parent,
                                               const std::vector<Range>& fibers,
                                               const std::vector<size_t>& offsets) {
  const auto [crd, payload] = joined_inputs(node, column);
  const Column to_crd = s_.canonical[static_cast<size_t>(node.inputs[0].stream)];
  const std::vector<uint32_t> to = evaluate(space, to_crd, parent, fibers, offsets);
  return look_across(to, offsets, crd, s_.canonical[static_cast<size_t>(payload)], parent);
}

std::vector<uint32_t> Relations::look_across(const std::vector<uint32_t>& to,
                                             const std::vector<size_t>& offsets, StreamId from_crd,
                                             Column wanted, const Table& parent) {
  const Column crd_column = s_.canonical[static_cast<size_t>(from_crd)];
  Columns columns = {crd_column};
  if (wanted >= 0) columns = united(std::move(columns), {wanted});
  const Expansion from = expand(s_.space_of(from_crd), parent, columns);
  const std::vector<uint32_t>& crd = from.table.at(crd_column);
  std::vector<uint32_t> out(to.size(), wanted < 0 ? 0 : kAbsent);
  for (size_t r = 0; r + 1 < offsets.size(); ++r) {
    size_t f = from.offsets[r];
    for (size_t e = offsets[r]; e < offsets[r + 1]; ++e) {
      while (f < from.offsets[r + 1] && crd[f] < to[e]) ++f;
      if (f == from.offsets[r + 1]) break;
      if (crd[f] == to[e]) out[e] = wanted < 0 ? 1 : from.table.at(wanted)[f];
    }
  }
  return out;
}

}  // namespace fuseflow::estimate
