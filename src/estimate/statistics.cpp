#include "estimate/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "estimate/row_needs.h"
#include "nodes/rule.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

double level_extent(const Tensor& tensor, int l) {
  return static_cast<double>(tensor.level_extent(static_cast<size_t>(l)));
}

class StatisticalCounter {
 public:
  StatisticalCounter(const Program& program, const Graph& graph,
                     std::vector<TensorStatistics>& known)
      : program_(program), graph_(graph), known_(known), s_(analyse_structure(program, graph)) {}

  StatisticalCounts run() {
    counts_.space.resize(s_.space.size());
    counts_.certain.assign(s_.space.size(), false);
    counts_.node.resize(graph_.nodes.size());
    for (int i = 0; i < static_cast<int>(s_.space.size()); ++i) count_space(i);
    complete_stops(s_, counts_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      count_node(graph_.nodes[n], counts_.node[n]);
    }
    counts_.needs =
        row_needs(s_, [&](TensorId tensor, double rows, int64_t stride, int64_t offset) {
          const std::vector<LevelStatistics>& levels = known_[static_cast<size_t>(tensor)].levels;
          const Tensor& of = program_.tensors[static_cast<size_t>(tensor)];
          ListedNeeds needs;
          if (levels.size() < 2 || stride != 1 || level_extent(of, 1) != rows) return needs;
          needs = levels[1].needs;
          for (std::vector<RowNeed>* list : {&needs.entries, &needs.fibers}) {
            for (RowNeed& need : *list) {
              need.rows = std::clamp(need.rows + static_cast<double>(offset) / rows, 0.0, 1.0);
            }
          }
          return needs;
        });
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::write_values) written(node.tensor);
    }
    divide_parts(s_, counts_);
    return {std::move(s_), std::move(counts_)};
  }

 private:
  const Tensor& tensor(TensorId id) const { return program_.tensors[static_cast<size_t>(id)]; }
  SpaceCount& count(int space) { return counts_.space[static_cast<size_t>(space)]; }
  const LevelStatistics& level(TensorId id, int l) {
    if (known_[static_cast<size_t>(id)].levels.empty()) written(id);
    if (known_[static_cast<size_t>(id)].levels.empty()) {
      throw Error(ExitCode::rejected, "no statistics of tensor %" + tensor(id).name + " are known");
    }
    return known_[static_cast<size_t>(id)].levels[static_cast<size_t>(l)];
  }

  Fiber fiber_of(int space) {
    const SpaceCount& here = count(space);
    const double around = count(s_.info(space).parent).elements;
    return around > 0 ? Fiber{here.elements / around, here.nonempty / around} : Fiber{};
  }

  void count_space(int i) {
    const SpaceInfo& info = s_.info(i);
    if (info.opening == Opening::root) return;
    const Fiber fiber = open(info);
    const double around = count(info.parent).elements;
    count(i).elements = around * fiber.length;
    count(i).nonempty = around * fiber.nonempty;
  }

  Fiber open(const SpaceInfo& info) {
    const Node& node = s_.node(info.opener);
    const auto whole = static_cast<double>(info.extent);
    switch (info.opening) {
      case Opening::root:
        return {1, 1};
      case Opening::counted:
        return {static_cast<double>(info.counted), info.counted > 0 ? 1.0 : 0.0};
      case Opening::scanned:
        return scanned(node, whole);
      case Opening::moved:
        return moved(info);
      case Opening::merged: {
        Fiber all;
        const double around = std::max(1e-9, count(info.parent).elements);
        for (const int copy : info.copies) {
          all.length += count(copy).elements / around;
          all.nonempty += count(copy).nonempty / around;
        }
        return all;
      }
      case Opening::computed:
        break;
    }
    Numbers numbers(*this, node, whole);
    return node_rule(node.kind).fiber(node, numbers, info.order);
  }

  /// What the rules of nodes ask.
  class Numbers final : public FiberNumbers {
   public:
    Numbers(StatisticalCounter& counter, const Node& node, double whole)
        : counter_(counter), node_(node), whole_(whole) {}
    Fiber input(size_t i) const override {
      return counter_.fiber_of(counter_.s_.space_of(node_.inputs[i].stream));
    }
    Fiber stored(size_t which) override { return counter_.galloped(node_, which, whole_); }
    double whole() const override { return whole_; }
    Fiber united(int loop) override { return counter_.accumulated(node_, loop); }
    double kept() const override { return counter_.kept_share(node_); }

   private:
    StatisticalCounter& counter_;
    const Node& node_;
    double whole_;
  };

  Fiber scanned(const Node& node, double loop) {
    const StreamId ref = node.inputs[0].stream;
    const double there = present_share(ref);
    if (node.tensor < 0) return {there * loop, there};
    return stored_fiber(node.tensor, node.level, ref, loop);
  }

  /// The fiber of the first (0) or second (1) level that a gallop reads.
  Fiber galloped(const Node& node, size_t which, double loop) {
    const StreamId ref = node.inputs[which].stream;
    return which == 0 ? stored_fiber(node.tensor, node.level, ref, loop)
                      : stored_fiber(node.other_tensor, node.other_level, ref, loop);
  }

  Fiber stored_fiber(TensorId id, int l, StreamId ref, double loop) {
    const double there = present_share(ref);
    const double extent = level_extent(tensor(id), l);
    const double clipped = extent > 0 ? std::min(1.0, loop / extent) : 1;
    const LevelKind kind = tensor(id).format.levels[static_cast<size_t>(l)];
    if (kind == LevelKind::dense) return {there * extent * clipped, there};
    if (kind == LevelKind::singleton) return {there, there};
    const LevelStatistics& stats = level(id, l);
    if (stats.fibers <= 0) return {};
    if (reached_by_itself(ref, stats)) {
      const double named = total(stats.reached.number);
      if (named > 0) {
        return {there * total(stats.reached.sum) / named * clipped,
                there * (1 - stats.reached.number[0] / named)};
      }
    }
    return {there * stats.entries / stats.fibers * clipped, there * stats.nonempty / stats.fibers};
  }

  /// The reference to a fiber of a level is looked up by a coordinate that was listed in that
  /// level, or in one of the same statistics (layers of a model have a copy of the graph each): a
  /// fiber is met as often as entries name it, so that in most graphs long ones are met more often.
  bool reached_by_itself(StreamId ref, const LevelStatistics& stats) {
    const Node& locate = made_by(ref);
    // A constant subscript has no coordinate input.
    if (locate.kind != NodeKind::locate || locate.inputs.size() < 2) return false;
    const Column crd = s_.canonical[static_cast<size_t>(locate.inputs[1].stream)];
    if (s_.column(crd).kind != ColumnInfo::Kind::stream) return false;
    const Node& source = s_.node(graph_.streams[static_cast<size_t>(crd)].producer);
    if (source.kind != NodeKind::scan || source.tensor < 0 || source.level <= 0) return false;
    return source.tensor == locate.tensor ||
           (is_listed(source) && level(source.tensor, source.level) == stats);
  }

  const Node& made_by(StreamId stream) {
    const Column c = s_.canonical[static_cast<size_t>(stream)];
    const StreamId made = s_.column(c).kind == ColumnInfo::Kind::stream ? c : stream;
    return s_.node(graph_.streams[static_cast<size_t>(made)].producer);
  }

  /// The share of references that are not N.
  double present_share(StreamId ref) {
    if (!s_.spaces.may_be_absent[static_cast<size_t>(ref)]) return 1;
    const Node& node = made_by(ref);
    if (node.kind == NodeKind::locate) {
      const double extent = std::max(1.0, level_extent(tensor(node.tensor), node.level));
      const LevelKind kind = tensor(node.tensor).format.levels[static_cast<size_t>(node.level)];
      double share = present_share(node.inputs[0].stream);
      if (kind == LevelKind::dense) {
        if (node.inputs.size() < 2) return share;  // a constant subscript
        const auto loop = s_.info(s_.space_of(node.inputs[1].stream)).extent;
        return node.strides.empty() ? share * std::min(1.0, extent / static_cast<double>(loop))
                                    : share;
      }
      const LevelStatistics& stats = level(node.tensor, node.level);
      return share * stats.entries / std::max(1.0, stats.fibers * extent);
    }
    const JoinRule* join = join_rule(node.kind);
    const bool absent = join != nullptr && join->absent_from != kNeverAbsent;
    return absent ? joined_share(node, *join, ref) : 1;
  }

  /// The share of a join's elements that the group of payload `ref` has.
  double joined_share(const Node& node, const JoinRule& join, StreamId ref) {
    const Column wanted = s_.canonical[static_cast<size_t>(ref)];
    const double out = fiber_of(s_.space_of(node.outputs[0])).length;
    for (const auto& [at, size, port] : groups_of(node)) {
      for (size_t k = 1; k < size; ++k) {
        if (node.outputs[port + k - 1] != wanted) continue;
        const double in = fiber_of(s_.space_of(node.inputs[at].stream)).length;
        const bool left = join.in_first_space && at > 0;
        const auto whole = static_cast<double>(s_.info(s_.space_of(node.outputs[0])).extent);
        return left ? std::min(1.0, in / std::max(whole, 1.0))
                    : (out > 0 ? std::min(1.0, in / out) : 1);
      }
    }
    return 1;
  }

  std::vector<double> group_lengths(const Node& node) {
    std::vector<double> lengths;
    for (const InputGroup& group : groups_of(node)) {
      lengths.push_back(fiber_of(s_.space_of(node.inputs[group.first].stream)).length);
    }
    return lengths;
  }

  /// The union over the fibers of the loop that ends.
  Fiber accumulated(const Node& node, int order) {
    const int ended = s_.space_of(node.inputs[1].stream);
    const Fiber ending = fiber_of(ended);
    const int loop = s_.space_of(node.inputs[static_cast<size_t>(order) + 2].stream);
    const Fiber inner = fiber_of(loop);
    const auto whole = static_cast<double>(s_.info(loop).extent);
    if (ending.nonempty <= 0 || whole <= 0) return {};
    if (order > 0 && s_.info(loop).opening == Opening::counted) return inner;
    const Histogram* rows = nullptr;
    if (s_.info(ended).opening == Opening::scanned) {
      const Node& scan = s_.node(s_.info(ended).opener);
      const bool listed = scan.tensor >= 0 && is_listed(scan);
      if (listed) rows = &lengths_met(scan);
    }
    double weight = 0;
    double length = 0;
    for (size_t b = 1; rows != nullptr && b < rows->number.size(); ++b) {
      if (rows->number[b] <= 0) continue;
      const double each = rows->sum[b] / rows->number[b];
      length += rows->number[b] * united_fibers(loop, inner, each, whole);
      weight += rows->number[b];
    }
    length = weight > 0 ? length / weight
                        : united_fibers(loop, inner, ending.length / ending.nonempty, whole);
    return {ending.nonempty * length, ending.nonempty * expected_fiber(length, whole).nonempty};
  }

  /// The lengths of the fibers that a scan of a listed level goes through.
  const Histogram& lengths_met(const Node& scan) {
    const LevelStatistics& stats = level(scan.tensor, scan.level);
    const bool again =
        reached_by_itself(scan.inputs[0].stream, stats) && total(stats.reached.number) > 0;
    return again ? stats.reached : stats.lengths;
  }

  static double total(const std::array<double, 33>& classes) {
    return std::accumulate(classes.begin(), classes.end(), 0.0);
  }

  bool is_listed(const Node& scan) const {
    return tensor(scan.tensor).format.levels[static_cast<size_t>(scan.level)] ==
           LevelKind::compressed;
  }

  /// Coordinates of the union of `rows` fibers of a loop, by how often each coordinate occurs.
  double united_fibers(int loop, const Fiber& inner, double rows, double whole) {
    const double p = std::min(1.0, inner.length / whole);
    const SpaceInfo& info = s_.info(loop);
    if (info.opening == Opening::scanned) {
      const Node& scan = s_.node(info.opener);
      if (scan.tensor >= 0 && is_listed(scan)) {
        const LevelStatistics& stats = level(scan.tensor, scan.level);
        const Histogram& each = stats.coordinates;
        double sum = 0;
        for (size_t b = 0; b < each.number.size() && stats.entries > 0; ++b) {
          if (each.number[b] <= 0) continue;
          const double share = each.sum[b] / each.number[b] / stats.entries * inner.length;
          sum += each.number[b] * (1 - std::pow(1 - std::min(1.0, share), rows));
        }
        if (sum > 0) return sum;
      }
    }
    return whole * (1 - std::pow(1 - p, rows));
  }

  /// The share of values that a filter keeps: half of what a relu gives.
  double kept_share(const Node& node) const {
    const StreamId value = node.inputs[0].stream;
    const Node& source = s_.node(graph_.streams[static_cast<size_t>(value)].producer);
    const bool half = source.kind == NodeKind::map && source.op == Op::relu && node.init == 0;
    return half ? 0.5 : 1;
  }

  /// Fibers moved below other elements: those that both sides have.
  Fiber moved(const SpaceInfo& info) {
    const Fiber origin = fiber_of(info.origin);
    if (info.parent != s_.move(info.move).top || s_.node(info.opener).kind == NodeKind::drop) {
      const bool dropped = s_.node(info.opener).kind == NodeKind::drop && origin.nonempty > 0 &&
                           info.parent == s_.move(info.move).top;
      return dropped ? Fiber{origin.length / origin.nonempty, 1} : origin;
    }
    const int from = s_.info(info.origin).parent;
    const double to_length = fiber_of(s_.move(info.move).top).length;
    const double share = to_length > 0 ? std::min(1.0, fiber_of(from).length / to_length) : 0.0;
    return {origin.length * share, origin.nonempty * share};
  }

  void count_node(const Node& node, NodeCount& out) {
    const NodeRule& rule = node_rule(node.kind);
    if (node.kind == NodeKind::gallop) {
      count_gallop(node, out);
    } else if (reads_tensor(node.kind) && node.tensor >= 0) {
      const StreamId ref = node.inputs[0].stream;
      out.present = count(s_.space_of(ref)).elements * present_share(ref);
      if (!rule.fields->level) return;  // values
      out.successors = successors(ref);
      const LevelKind kind = tensor(node.tensor).format.levels[static_cast<size_t>(node.level)];
      if (kind == LevelKind::dense) return;
      out.words =
          out.present * std::ceil(level_extent(tensor(node.tensor), node.level) / kLevelWordBits);
      const LevelStatistics& stats = level(node.tensor, node.level);
      const double mean = stats.entries / std::max(1.0, stats.fibers);
      const double probes = std::floor(std::log2(std::max(1.0, mean)) + 1);
      out.probes = out.present * probes;
      if (node.kind == NodeKind::locate && kind == LevelKind::compressed) {
        out.search_steps = out.present * (probes - 1);
      }
    } else if (joins(node.kind)) {
      count_join(node, out);
    } else if (writes_tensor(node.kind)) {
      count_writer(node, out);
    }
  }

  /// References that follow the one before.
  double successors(StreamId ref) {
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    const int home = s_.home(column);
    const bool swept = home == s_.space_of(ref) && s_.info(home).opening == Opening::counted;
    return s_.sequential(column) || swept ? count(home).elements : 0;
  }

  /// Coordinates of two fibers, independent and anywhere: what one has alone comes in runs, before
  /// something of the other. A run is passed in a jump.
  void count_gallop(const Node& node, NodeCount& out) {
    const double pairs = count(s_.space_of(node.inputs[0].stream)).elements;
    const auto whole =
        std::max(1.0, static_cast<double>(s_.info(s_.space_of(node.outputs[0])).extent));
    const Fiber a = galloped(node, 0, whole);
    const Fiber b = galloped(node, 1, whole);
    out.present = pairs;
    for (const Input& input : node.inputs) {
      out.present *= present_share(input.stream);
      out.successors += successors(input.stream);
    }
    const double both_there = pairs * a.nonempty * b.nonempty;
    if (both_there <= 0) return;
    const double both = a.length / a.nonempty * b.length / b.nonempty / whole;
    const double alone_a = std::max(0.0, a.length / a.nonempty - both);
    const double alone_b = std::max(0.0, b.length / b.nonempty - both);
    const double all = alone_a + alone_b;
    const double runs = all > 0 ? alone_a * alone_b / all : 0;
    const double probes =
        runs > 0 ? runs * (probes_of_run(alone_a / all) + probes_of_run(alone_b / all)) : 0;
    const double heads = 1 + both;
    out.looks = both_there * (heads + probes);
    out.looked_at = both_there * (2 * heads + probes);
    // Where a run goes on with probability q, the share q of runs is longer than one.
    const double qa = all > 0 ? alone_a / all : 0;
    const double qb = all > 0 ? alone_b / all : 0;
    out.jumps = both_there * runs * (qa + qb);
    out.passed = both_there * (all - runs * (1 - qa) - runs * (1 - qb));
  }

  /// Probes of a jump over a run whose length is geometrically distributed: it goes on with
  /// probability q. A run of more than 2^(k-1) and at most 2^k takes 2 k of them, one of 1 one.
  static double probes_of_run(double q) {
    double sum = 1 - q;
    for (int k = 1; k < 32; ++k) {
      sum += 2 * k * (std::pow(q, std::ldexp(1, k - 1)) - std::pow(q, std::ldexp(1, k)));
    }
    return sum;
  }

  void count_join(const Node& node, NodeCount& out) {
    const SpaceInfo& info = s_.info(s_.space_of(node.outputs[0]));
    const auto whole = static_cast<double>(info.extent);
    const double fibers = count(info.parent).elements;
    double none = 1;
    for (const double length : group_lengths(node)) none *= 1 - std::min(1.0, length / whole);
    out.met = fibers * whole * (1 - none);
    if (!join_rule(node.kind)->by_words || whole <= 0) return;
    constexpr auto kBits = static_cast<double>(kLevelWordBits);
    const double kept = fiber_of(s_.space_of(node.outputs[0])).length / whole;
    const double silent = std::pow(1 - std::min(1.0, kept), std::min(whole, kBits));
    out.silent_words = fibers * std::ceil(whole / kBits) * silent;
  }

  void count_writer(const Node& node, NodeCount& out) {
    written(node.tensor);
    const Tensor& t = tensor(node.tensor);
    double positions = 1;
    for (int l = 0; l < t.format.rank(); ++l) {
      const double fibers = positions;
      const bool dense = t.format.levels[static_cast<size_t>(l)] == LevelKind::dense;
      positions = dense ? positions * level_extent(t, l) : level(node.tensor, l).entries;
      if (node.kind == NodeKind::write_level && node.level == l) {
        out.fibers = fibers + 1;
        out.stored = positions;
      }
    }
    if (node.kind == NodeKind::write_values) out.stored = positions;
  }

  /// Statistics of a tensor that this graph writes.
  void written(TensorId id) {
    TensorStatistics& stats = known_[static_cast<size_t>(id)];
    const Tensor& t = tensor(id);
    if (!stats.levels.empty() || t.format.all_dense()) return;
    double positions = 1;
    std::vector<LevelStatistics> levels(static_cast<size_t>(t.format.rank()));
    for (int l = 0; l < t.format.rank(); ++l) {
      LevelStatistics& here = levels[static_cast<size_t>(l)];
      here.fibers = positions;
      if (t.format.levels[static_cast<size_t>(l)] == LevelKind::dense) {
        positions *= level_extent(t, l);
        continue;
      }
      for (const Node& node : graph_.nodes) {
        if (node.kind != NodeKind::write_level || node.tensor != id || node.level != l) continue;
        const SpaceCount& space = count(s_.space_of(node.inputs.back().stream));
        here.entries = space.elements;
        here.nonempty = std::min(space.nonempty, here.fibers);
      }
      const double mean = here.nonempty > 0 ? here.entries / here.nonempty : 0;
      here.longest = std::min(level_extent(t, l), 2 * mean + 1);
      here.lengths.add(0, here.fibers - here.nonempty);
      here.lengths.add(static_cast<uint64_t>(std::llround(mean)), here.nonempty);
      positions = here.entries;
    }
    stats.levels = std::move(levels);
  }

  const Program& program_;
  const Graph& graph_;
  std::vector<TensorStatistics>& known_;
  Structure s_;
  Counts counts_;
};

}  // namespace

void Histogram::add(uint64_t count, double times) {
  const size_t b = std::min(static_cast<size_t>(std::bit_width(count)), number.size() - 1);
  number[b] += times;
  sum[b] += times * static_cast<double>(count);
}

TensorStatistics statistics_of(const Storage& storage) {
  TensorStatistics result;
  for (int l = 0; l < storage.rank(); ++l) {
    const Level& level = storage.levels[static_cast<size_t>(l)];
    LevelStatistics stats;
    stats.fibers = l == 0 ? 1.0 : static_cast<double>(storage.positions(l - 1));
    stats.entries = static_cast<double>(storage.positions(l));
    stats.nonempty = stats.fibers;
    if (!level.pos.empty()) {
      stats.nonempty = 0;
      for (size_t f = 0; f + 1 < level.pos.size(); ++f) {
        const double length = level.pos[f + 1] - level.pos[f];
        stats.nonempty += length > 0 ? 1 : 0;
        stats.longest = std::max(stats.longest, length);
        stats.lengths.add(level.pos[f + 1] - level.pos[f]);
      }
    }
    if (level.kind == LevelKind::compressed) {
      stats.needs = listed_needs(level, static_cast<double>(level.extent), 1, 0);
      std::vector<uint32_t> occurs(static_cast<size_t>(level.extent), 0);
      for (const uint32_t c : level.crd) ++occurs[c];
      for (const uint32_t n : occurs) stats.coordinates.add(n);
      const bool square = level.pos.size() == occurs.size() + 1;
      for (size_t f = 0; square && f < occurs.size(); ++f) {
        stats.reached.add(level.pos[f + 1] - level.pos[f], occurs[f]);
      }
    }
    result.levels.push_back(stats);
  }
  return result;
}

std::vector<TensorStatistics> statistics_of(const Program& program, const TensorData& data) {
  std::vector<TensorStatistics> result(program.tensors.size());
  for (size_t t = 0; t < result.size(); ++t) {
    if (const Storage* storage = data.find(static_cast<TensorId>(t))) {
      result[t] = statistics_of(*storage);
    }
  }
  return result;
}

StatisticalCounts count_statistics(const Program& program, const Graph& graph,
                                   std::vector<TensorStatistics>& known) {
  return StatisticalCounter(program, graph, known).run();
}

}  // namespace fuseflow::estimate
