// Counts from the data: spaces and nodes out of relations, and the patterns of written tensors.
#include <algorithm>
#include <bit>
#include <numeric>

#include "estimate/count_within.h"
#include "estimate/derived.h"
#include "estimate/relations.h"
#include "estimate/row_needs.h"
#include "nodes/look_up.h"
#include "nodes/rule.h"
#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"
#include "tensor/limits.h"

namespace fuseflow::estimate {

namespace {

class ExactCounter {
 public:
  ExactCounter(const Program& program, const Graph& graph, const TensorData& data,
               const std::vector<bool>& uncertain, const Limits& limits)
      : program_(program),
        graph_(graph),
        data_(data),
        uncertain_(uncertain),
        relations_(program, graph, data, limits),
        s_(relations_.structure()) {
    relations_.missing = [this](TensorId id) { return pattern_of(id); };
  }

  size_t rows_made() const { return relations_.rows_made(); }

  /// What earlier phases wrote.
  void take_written(const std::vector<Written>& earlier) { written_ = earlier; }

  ExactCounts run() {
    counts_.space.resize(s_.space.size());
    counts_.certain.assign(s_.space.size(), true);
    counts_.node.resize(graph_.nodes.size());
    for (int i = 0; i < static_cast<int>(s_.space.size()); ++i) count_space(i);
    complete_stops(s_, counts_);
    written_patterns();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      count_node(graph_.nodes[n], counts_.node[n]);
    }
    counts_.needs =
        row_needs(s_, [&](TensorId tensor, double rows, int64_t stride, int64_t offset) {
          const Storage* storage = data_.find(tensor);
          const bool listed =
              storage != nullptr && storage->levels[1].kind == LevelKind::compressed;
          return listed ? listed_needs(storage->levels[1], rows, stride, offset) : ListedNeeds();
        });
    divide_parts(s_, counts_);
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      counts_.by_values.push_back(!is_certain(static_cast<TensorId>(t)));
    }
    return {relations_.take_structure(), std::move(counts_), std::move(written_)};
  }

 private:
  Column canonical(StreamId stream) const { return s_.canonical[static_cast<size_t>(stream)]; }

  void count_space(int i) {
    const SpaceInfo& info = s_.info(i);
    SpaceCount& count = counts_.space[static_cast<size_t>(i)];
    if (info.opening == Opening::root) return;
    count.elements = 0;
    if (info.opening == Opening::merged) return count_merged(info, i);
    const Table& parent = relations_.relation(info.parent, relations_.needs(i, {}));
    const std::vector<Range> fibers = relations_.ranges(i, parent);
    for (size_t r = 0; r < fibers.size(); ++r) {
      count.elements += parent.weight[r] * static_cast<double>(fibers[r].count);
      if (fibers[r].count > 0) count.nonempty += parent.weight[r];
    }
    counts_.certain[static_cast<size_t>(i)] = is_certain(info);  // patterns are known by now
  }

  void count_merged(const SpaceInfo& info, int i) {
    SpaceCount& count = counts_.space[static_cast<size_t>(i)];
    bool certain = true;
    for (const int copy : info.copies) {
      count.elements += counts_.space[static_cast<size_t>(copy)].elements;
      count.nonempty += counts_.space[static_cast<size_t>(copy)].nonempty;
      certain = certain && counts_.certain[static_cast<size_t>(copy)];
    }
    counts_.certain[static_cast<size_t>(i)] = certain;
  }

  bool is_certain(const SpaceInfo& info) const {
    if (!counts_.certain[static_cast<size_t>(info.parent)]) return false;
    const Node& node = s_.node(info.opener);
    if (node_rule(node.kind).by_values) return false;
    // Which copy gets the first element of a fiber changes from fiber to fiber.
    if (node.kind == NodeKind::parallelize && !node.contiguous &&
        s_.info(info.parent).opening != Opening::root) {
      return false;
    }
    if (info.opening != Opening::counted) {
      bool certain = true;
      for_tensors(node, [&](TensorId tensor) { certain = certain && is_certain(tensor); });
      if (!certain) return false;
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Input& input) {
      return input.is_immediate() || certain_stream(input.stream);
    });
  }

  bool is_certain(TensorId tensor) const {
    return !uncertain_[static_cast<size_t>(tensor)] &&
           std::none_of(written_.begin(), written_.end(), [&](const Written& written) {
             return written.tensor == tensor && !written.certain;
           });
  }

  bool certain_stream(StreamId stream) const {
    const int home = s_.space_of(stream);
    return home < 0 || counts_.certain[static_cast<size_t>(home)];
  }

  void count_node(const Node& node, NodeCount& count) {
    if (node.kind == NodeKind::gallop) return count_gallop(node, count);
    if (reads_tensor(node.kind) && node.tensor >= 0) count_access(node, count);
    if (joins(node.kind)) count_join(node, count);
    if (writes_tensor(node.kind)) count_writer(node, count);
  }

  void count_access(const Node& node, NodeCount& count) {
    const StreamId ref = node.inputs[0].stream;
    const int space = s_.space_of(ref);
    count.present = counts_.space[static_cast<size_t>(space)].elements;
    const bool absent = s_.spaces.may_be_absent[static_cast<size_t>(ref)];
    const bool lists = node_rule(node.kind).fields->level &&
                       relations_.level(node.tensor, node.level).kind != LevelKind::dense;
    if (absent) {
      const Table& refs = relations_.relation(space, {canonical(ref)});
      for (size_t r = 0; r < refs.rows(); ++r) {
        if (refs.values[0][r] == kAbsent) count.present -= refs.weight[r];
      }
    }
    if (!lists) return;
    const LevelLists& level = relations_.level(node.tensor, node.level);
    if (level.kind == LevelKind::bitvector) {
      count.words = count.present * static_cast<double>(ceil_div(level.extent, kLevelWordBits));
    }
    count.successors = successors(space, canonical(ref));
    if (node.kind == NodeKind::locate && level.kind == LevelKind::compressed) {
      count_look_ups(node, level, count);
    }
  }

  /// What is searched: nothing where the coordinates are outside of the level.
  void count_look_ups(const Node& node, const LevelLists& level, NodeCount& count) {
    const Column ref = canonical(node.inputs[0].stream);
    const bool inside = is_always_inside(graph_, s_.spaces, node, level.extent);
    Columns columns{ref};
    for (size_t i = 1; i < node.inputs.size() && !inside; ++i) {
      columns = united(std::move(columns), {canonical(node.inputs[i].stream)});
    }
    const Table& table = relations_.relation(s_.space_of(node.inputs[0].stream), columns);
    const std::vector<uint32_t>& refs = table.at(ref);
    for (size_t r = 0; r < table.rows(); ++r) {
      if (refs[r] == kAbsent) continue;
      if (!inside && !is_inside(position_of(node, table, r), level.extent)) {
        count.present -= table.weight[r];
        continue;
      }
      const uint32_t length = (*level.pos)[refs[r] + 1] - (*level.pos)[refs[r]];
      const int probes = std::bit_width(length);
      count.probes += table.weight[r] * probes;
      count.search_steps += table.weight[r] * std::max(0, probes - 1);
    }
  }

  static bool is_inside(int64_t position, int64_t extent) {
    return position >= 0 && position < extent;
  }

  /// What a locate looks up, of the coordinates of a row.
  int64_t position_of(const Node& node, const Table& table, size_t row) const {
    int64_t position = node.offset;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const int64_t stride = i == 1 ? node.stride : node.strides[i - 2];
      position += stride * table.at(canonical(node.inputs[i].stream))[row];
    }
    return position;
  }

  /// How often a reference follows the one before it: in the same fiber, or everywhere in a
  /// stream that runs through all positions.
  double successors(int space, Column column) {
    const int home = s_.home(column);
    if (s_.sequential(column)) {
      return std::max(0.0, counts_.space[static_cast<size_t>(home)].elements - 1);
    }
    if (home != space || s_.info(space).opening == Opening::root) return 0;
    const Source source = relations_.source(space, {column});
    double sum = 0;
    constexpr size_t kRows = 4096;
    for (size_t first = 0; first < source.fibers.size(); first += kRows) {
      const size_t last = std::min(source.fibers.size(), first + kRows);
      const Expansion part = relations_.expand(space, source, {column}, first, last);
      const std::vector<uint32_t>& refs = part.table.values[0];
      for (size_t r = 0; r + 1 < part.offsets.size(); ++r) {
        for (size_t e = part.offsets[r] + 1; e < part.offsets[r + 1]; ++e) {
          if (refs[e] == refs[e - 1] + 1) sum += part.table.weight[e];
        }
      }
    }
    return sum;
  }

  void count_gallop(const Node& node, NodeCount& count) {
    const int space = s_.space_of(node.outputs[0]);
    const DerivedFibers& fibers = relations_.derived(space);
    const Table& keys = relations_.relation(s_.info(space).parent, fibers.key);
    for (size_t r = 0; r < keys.rows(); ++r) {
      const GallopCounts& each = fibers.gallops[r];
      const double weight = keys.weight[r];
      count.present += each.entered ? weight : 0;
      count.looks += weight * each.looks;
      count.looked_at += weight * each.looked_at;
      count.jumps += weight * each.jumps;
      count.passed += weight * each.passed;
    }
    for (const Input& input : node.inputs) {
      count.successors += successors(s_.space_of(input.stream), canonical(input.stream));
    }
  }

  void count_join(const Node& node, NodeCount& count) {
    if (join_rule(node.kind)->in_first_space) return count_left_join(node, count);
    const int space = s_.space_of(node.outputs[0]);
    if (s_.info(space).opening != Opening::computed) return;
    const DerivedFibers& fibers = relations_.derived(space);
    if (fibers.met.empty()) return;
    const Table& keys = relations_.relation(s_.info(space).parent, fibers.key);
    const bool by_words = join_rule(node.kind)->by_words;
    for (size_t r = 0; r < keys.rows(); ++r) {
      count.met += keys.weight[r] * fibers.met[r];
      if (by_words) count.silent_words += keys.weight[r] * silent_words(fibers, r);
    }
  }

  /// The words of the r-th fiber that have none of its coordinates.
  static double silent_words(const DerivedFibers& fibers, size_t r) {
    int64_t last = -1;
    int64_t silent = ceil_div(fibers.extent, kLevelWordBits);
    for (uint64_t at = fibers.pos[r]; at < fibers.pos[r + 1]; ++at) {
      const int64_t word = fibers.crd[at] / kLevelWordBits;
      silent -= word == last ? 0 : 1;
      last = word;
    }
    return static_cast<double>(silent);
  }

  /// Coordinates met: those of the first group, and those that only others have.
  void count_left_join(const Node& node, NodeCount& count) {
    std::vector<int> groups;
    Columns key;
    for (const InputGroup& group : groups_of(node)) {
      groups.push_back(s_.space_of(node.inputs[group.first].stream));
      key = united(std::move(key), relations_.needs(groups.back(), {}));
    }
    const Table& keys = relations_.relation(s_.info(groups[0]).parent, key);
    std::vector<std::vector<Range>> fibers;
    fibers.reserve(groups.size());
    for (const int group : groups) fibers.push_back(relations_.ranges(group, keys));
    const int64_t extent = s_.info(groups[0]).extent;
    for (size_t r = 0; r < keys.rows(); ++r) {
      std::vector<Range> row;
      row.reserve(fibers.size());
      for (const std::vector<Range>& group : fibers) row.push_back(group[r]);
      count.met += keys.weight[r] * static_cast<double>(distinct_coordinates(row, extent));
    }
  }

  /// How many coordinates any of the fibers has.
  static uint64_t distinct_coordinates(const std::vector<Range>& fibers, int64_t extent) {
    for (const Range& fiber : fibers) {
      if (fiber.whole(extent)) return fiber.count;
    }
    if (fibers.size() == 2) {
      const uint64_t both = common_coordinates(fibers[0], fibers[1], extent);
      return fibers[0].count + fibers[1].count - both;
    }
    std::vector<uint64_t> all;
    for (const Range& fiber : fibers) {
      for (uint64_t k = 0; k < fiber.count; ++k) all.push_back(fiber.coordinate(k));
    }
    std::sort(all.begin(), all.end());
    return static_cast<uint64_t>(std::unique(all.begin(), all.end()) - all.begin());
  }

  // --- what is written

  const Tensor& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }

  void written_patterns() {
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::write_values) pattern_of(node.tensor);
    }
  }

  /// The pattern of a tensor that this graph writes; null if it has no listed levels.
  const Storage* pattern_of(TensorId id) {
    for (const Written& written : written_) {
      if (written.tensor == id) return written.pattern.get();
    }
    if (!tensor(id).format.all_dense()) write_pattern(id);
    return written_.empty() || written_.back().tensor != id ? nullptr
                                                            : written_.back().pattern.get();
  }

  /// The coordinate streams of the levels 0 .. l, by level: those that the writers are given.
  std::vector<StreamId> written_crds(TensorId id, int l) const {
    std::vector<StreamId> crds(static_cast<size_t>(l) + 1, -1);
    for (const Node& node : graph_.nodes) {
      if (node.tensor != id || node.kind != NodeKind::write_level || node.level > l) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        crds[static_cast<size_t>(node.level) + 1 + i - node.inputs.size()] = node.inputs[i].stream;
      }
    }
    return crds;
  }

  void write_pattern(TensorId id) {
    const Tensor& t = tensor(id);
    auto storage = std::make_shared<Storage>();
    storage->shape = known_shape(t);
    storage->format = t.format;
    storage->fill = t.fill;
    bool certain = true;
    std::vector<std::vector<uint32_t>> outer;  // coordinates of the positions of the level above
    size_t positions = 1;
    for (int l = 0; l < t.format.rank(); ++l) {
      Level level;
      level.kind = t.format.levels[static_cast<size_t>(l)];
      level.extent = Relations::extent(t, l);
      if (level.kind == LevelKind::dense) {
        positions = table_value(saturating_product(positions, static_cast<uint64_t>(level.extent)));
      } else {
        const std::vector<StreamId> crds = written_crds(id, l);
        if (std::find(crds.begin(), crds.end(), -1) != crds.end()) return;
        certain = certain && certain_stream(crds.back());
        fill_level(t, *storage, l, positions, crds, level);
        positions = level.crd.size();
      }
      storage->levels.push_back(std::move(level));
    }
    written_.push_back({id, std::move(storage), certain});
  }

  /// Level l's fibers from all tuples of coordinates down to it.
  void fill_level(const Tensor& t, const Storage& above, int l, size_t fibers,
                  const std::vector<StreamId>& crds, Level& level) {
    Columns columns;
    for (const StreamId crd : crds) columns.push_back(canonical(crd));
    const Table& rows = relations_.relation(s_.space_of(crds.back()), united({}, columns));
    // Position of the fiber: walk the levels above; tuples are then sorted by (fiber, coordinate).
    std::vector<std::pair<uint32_t, uint32_t>> entries(rows.rows());
    std::vector<const uint32_t*> coordinates;
    for (const Column c : columns) coordinates.push_back(rows.at(c).data());
    for (size_t r = 0; r < rows.rows(); ++r) {
      int64_t at = 0;
      for (int k = 0; k < l && at >= 0; ++k) {
        at = find(above.levels[static_cast<size_t>(k)], at, coordinates[static_cast<size_t>(k)][r]);
      }
      if (at < 0) throw Defect("estimate: levels of %" + t.name + " disagree");
      entries[r] = {static_cast<uint32_t>(at), coordinates[static_cast<size_t>(l)][r]};
    }
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    level.pos.assign(fibers + 1, 0);
    level.crd.reserve(entries.size());
    for (const auto& [fiber, crd] : entries) {
      ++level.pos[fiber + 1];
      level.crd.push_back(crd);
    }
    std::partial_sum(level.pos.begin(), level.pos.end(), level.pos.begin());
  }

  static int64_t find(const Level& level, int64_t parent, uint32_t crd) {
    if (level.kind == LevelKind::dense) return parent * level.extent + crd;
    const auto first = level.crd.begin() + level.pos[static_cast<size_t>(parent)];
    const auto last = level.crd.begin() + level.pos[static_cast<size_t>(parent) + 1];
    const auto found = std::lower_bound(first, last, crd);
    return found != last && *found == crd ? found - level.crd.begin() : -1;
  }

  void count_writer(const Node& node, NodeCount& count) {
    const auto found = std::find_if(written_.begin(), written_.end(),
                                    [&](const Written& w) { return w.tensor == node.tensor; });
    if (found == written_.end()) {
      count.stored = 1;
      for (int l = 0; l < tensor(node.tensor).format.rank(); ++l) {
        count.stored *= static_cast<double>(Relations::extent(tensor(node.tensor), l));
      }
      return;
    }
    const Storage& pattern = *found->pattern;
    if (node.kind == NodeKind::write_level) {
      const Level& level = pattern.levels[static_cast<size_t>(node.level)];
      count.stored = static_cast<double>(level.crd.size());
      count.fibers = static_cast<double>(level.pos.size());
    } else {
      count.stored = static_cast<double>(pattern.positions(pattern.rank() - 1));
    }
  }

  const Program& program_;
  const Graph& graph_;
  const TensorData& data_;
  const std::vector<bool>& uncertain_;
  Relations relations_;
  const Structure& s_;
  Counts counts_;
  std::vector<Written> written_;
};

}  // namespace

bool Counts::finds_by_values(const Node& reader) const {
  bool found = false;
  if (!reads_tensor(reader.kind)) return false;
  for_tensors(reader, [&](TensorId tensor) {
    found = found || (!by_values.empty() && by_values[static_cast<size_t>(tensor)]);
  });
  return found;
}

void complete_stops(const Structure& structure, Counts& counts) {
  for (size_t i = 0; i < counts.space.size(); ++i) {
    const int parent = structure.space[i].parent;
    if (parent < 0) continue;
    const SpaceCount& outer = counts.space[static_cast<size_t>(parent)];
    // A stop for each element around, and for each stop around that follows no element.
    counts.space[i].stops = outer.elements + outer.stops - outer.nonempty;
  }
}

void divide_parts(const Structure& structure, Counts& counts) {
  const std::vector<Node>& nodes = structure.graph->nodes;
  std::vector<NodeCount*> first(structure.program->tensors.size(), nullptr);
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].kind != NodeKind::write_values) continue;
    NodeCount*& whole = first[static_cast<size_t>(nodes[n].tensor)];
    if (whole == nullptr) {  // it also counts what no writer gives
      whole = &counts.node[n];
      continue;
    }
    const int space = structure.space_of(nodes[n].inputs.back().stream);
    counts.node[n].stored = counts.space[static_cast<size_t>(space)].elements;
    whole->stored = std::max(0.0, whole->stored - counts.node[n].stored);
  }
}

ExactCounts count_exact(const Program& program, const Graph& graph, const TensorData& data,
                        const std::vector<bool>& uncertain) {
  return ExactCounter(program, graph, data, uncertain, {}).run();
}

void refuse_rows() {
  throw Error(ExitCode::unfinished,
              "counting from the data would take too much memory; use --statistics");
}

ExactCounts count_part(size_t& rows_left, const Program& program, const Graph& graph,
                       const TensorData& data, const std::vector<bool>& uncertain,
                       const std::vector<Written>& earlier) {
  Limits limits;
  limits.all_rows = rows_left;
  ExactCounter counter(program, graph, data, uncertain, limits);
  counter.take_written(earlier);
  ExactCounts counts = counter.run();
  rows_left -= counter.rows_made();
  counts.written.erase(counts.written.begin(),
                       counts.written.begin() + static_cast<std::ptrdiff_t>(earlier.size()));
  return counts;
}

ExactCounts count_within(size_t& rows_left, const Program& program, const Graph& graph,
                         const TensorData& data, const std::vector<bool>& uncertain) {
  return count_part(rows_left, program, graph, data, uncertain, {});
}

}  // namespace fuseflow::estimate
