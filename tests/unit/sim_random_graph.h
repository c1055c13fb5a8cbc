// Random well-typed dataflow graphs with random data, for tests that compare executors.
#pragma once

#include <algorithm>
#include <random>

#include "sim_graph.h"

namespace fuseflow::testing {

class RandomGraph {
 public:
  /// `bits`: levels are bit vectors, thin enough that words are empty.
  explicit RandomGraph(uint64_t seed, int most_extent = 6, int steps = 14, bool bits = false)
      : random_(seed), most_(most_extent), bits_(bits) {
    make_tensors();
    Space top;
    const StreamId root = b.root();
    for (const TensorId t : tensors_) top.refs.push_back({root, t, 0});
    top.any = root;
    spaces_.push_back(top);
    for (int s = 0; s < steps; ++s) grow();
    sink();
  }

  GraphBuilder b;

  Machine machine() {
    Machine m;
    for (UnitTiming& unit : m.units) unit = {1 + pick(3), pick(4) == 0 ? 2 : 1, 0};
    m.accumulate_drain_interval_cycles = pick(3);
    m.accumulate_outer_stops_take_steps = pick(2) == 0;
    m.accumulate_double_buffered = pick(2) == 0;
    m.write_stops_take_steps = pick(2) == 0;
    for (OperatorTiming& slow : m.operators) slow = {pick(9), pick(3)};
    return m;
  }

 private:
  struct Ref {
    StreamId stream;
    TensorId tensor;
    int level;
  };
  struct Space {
    int parent = -1;
    StreamId any = -1;
    StreamId crd = -1;
    std::vector<Ref> refs;
    std::vector<StreamId> vals;
    int loops = 0;
    int64_t extent = 0;
    int index = -1;
  };

  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  /// A space with values, if a few tries find one.
  Space& space_with_values() {
    for (int tries = 0; tries < 8; ++tries) {
      Space& s = any_space();
      if (!s.vals.empty() && s.parent >= 0) return s;
    }
    return any_space();
  }
  Space& deep_space() {
    Space& a = space_with_values();
    Space& b2 = space_with_values();
    return a.loops > b2.loops ? a : b2;
  }
  void add_values(Space& s) {
    for (const Ref& r : s.refs) {
      if (r.level == rank(r.tensor) && pick(4) > 0) s.vals.push_back(b.array(r.tensor, r.stream));
    }
    if (s.crd >= 0 && pick(6) == 0) {
      s.vals.push_back(b.pass(NodeKind::coordinate, s.crd, StreamKind::val));
    }
  }
  Space& any_space() {
    return spaces_[static_cast<size_t>(pick(static_cast<int64_t>(spaces_.size())))];
  }

  void make_tensors() {
    const char* matrix[] = {"dense,dense",      "dense,compressed", "compressed,compressed",
                            "compressed,dense", "dense,bitvector",  "compressed,singleton"};
    extent_ = 1 + pick(most_);
    for (int t = 0; t < 4; ++t) {
      const int rank = 1 + static_cast<int>(pick(3) > 0);
      const int64_t rows = pick(5) == 0 ? 1 + pick(most_) : extent_;
      std::vector<int64_t> shape(static_cast<size_t>(rank), extent_);
      shape[0] = rows;
      int64_t count = 1;
      for (const int64_t e : shape) count *= e;
      std::vector<float> values(static_cast<size_t>(count));
      const int64_t density = 1 + pick(9);
      const int64_t of = bits_ ? 10 * extent_ / (1 + pick(40)) + 10 : 10;
      for (float& v : values) v = pick(of) < density ? static_cast<float>(1 + pick(9)) : 0.0F;
      std::string format = rank == 1 ? (pick(2) == 0 ? "dense" : "compressed") : matrix[pick(6)];
      if (bits_) format = rank == 1 ? "bitvector" : "dense,bitvector";
      tensors_.push_back(b.input("t" + std::to_string(t), shape, format, values));
    }
  }

  int64_t level_extent(const Ref& ref) const {
    const Tensor& t = b.program.tensors[static_cast<size_t>(ref.tensor)];
    return t.shape[static_cast<size_t>(t.format.mode_order[static_cast<size_t>(ref.level)])].value;
  }
  bool is_bits(const Ref& ref) const {
    const Tensor& t = b.program.tensors[static_cast<size_t>(ref.tensor)];
    return t.format.levels[static_cast<size_t>(ref.level)] == LevelKind::bitvector;
  }
  /// A compressed level without tuples below it.
  bool is_list(const Ref& ref) const {
    const Tensor& t = b.program.tensors[static_cast<size_t>(ref.tensor)];
    const auto l = static_cast<size_t>(ref.level);
    const auto& levels = t.format.levels;
    return levels[l] == LevelKind::compressed &&
           (l + 1 == levels.size() || levels[l + 1] != LevelKind::singleton);
  }
  int rank(TensorId t) const { return b.program.tensors[static_cast<size_t>(t)].format.rank(); }

  void grow() {
    switch (pick(20)) {
      case 0:
      case 1:
        return open();
      case 2:
      case 3:
      case 4:
        return join();
      case 5:
      case 6:
        return repeat();
      case 7:
        return locate();
      case 8:
      case 9:
      case 10:
        return array_or_map();
      case 11:
      case 12:
        return reduce();
      case 13:
      case 14:
        return accumulate();
      case 15:
        return filter();
      case 16:
        return drop();
      case 17:
      case 18:
        return align();
      default:
        return pass();
    }
  }

  int space_index(const Space& s) const { return static_cast<int>(&s - spaces_.data()); }

  /// Half of the time the index of another loop of this extent below the same space, if there is
  /// one: only loops of one index are aligned.
  int index_below(int parent, const std::string& name, int64_t extent) {
    for (const Space& s : spaces_) {
      if (s.parent == parent && s.extent == extent && s.index >= 0 && pick(2) == 0) return s.index;
    }
    return b.index(name, extent);
  }

  void open() {
    Space& p = any_space();
    if (p.loops >= 4) return;
    Space s;
    s.parent = space_index(p);
    s.loops = p.loops + 1;
    std::vector<Ref> open;
    for (const Ref& r : p.refs) {
      if (r.level < rank(r.tensor)) open.push_back(r);
    }
    if (open.empty() || pick(8) == 0) {
      if (p.refs.empty()) return;
      s.extent = 1 + pick(most_);
      s.index = index_below(s.parent, "c", s.extent);
      const auto [crd, ref] = b.scan(-1, -1, p.refs[0].stream, s.index);
      s.crd = s.any = crd;
      (void)ref;
    } else {
      const Ref r = open[static_cast<size_t>(pick(static_cast<int64_t>(open.size())))];
      s.extent = level_extent(r);
      s.index = index_below(s.parent, "i", s.extent);
      const auto [crd, ref] = b.scan(r.tensor, r.level, r.stream, s.index);
      if (pick(6) == 0) b.last().offset = pick(3) - 1;
      s.crd = s.any = crd;
      s.refs.push_back({ref, r.tensor, r.level + 1});
    }
    add_values(s);
    spaces_.push_back(s);
  }

  void join() {
    Space& p = any_space();
    if (p.loops >= 4) return;
    std::vector<Ref> open;
    for (const Ref& r : p.refs) {
      if (r.level < rank(r.tensor)) open.push_back(r);
    }
    if (open.empty()) return;
    const Ref first = open[static_cast<size_t>(pick(static_cast<int64_t>(open.size())))];
    const int64_t extent = level_extent(first);
    Space s;
    s.parent = space_index(p);
    s.loops = p.loops + 1;
    s.extent = extent;
    s.index = index_below(s.parent, "j", extent);
    const int groups = 2 + static_cast<int>(pick(4) == 0);
    const bool words = is_bits(first) && pick(2) == 0;
    std::vector<Ref> met{first};
    while (static_cast<int>(met.size()) < groups) {
      const Ref other = open[static_cast<size_t>(pick(static_cast<int64_t>(open.size())))];
      const bool fits = level_extent(other) == extent && (!words || is_bits(other));
      met.push_back(fits ? other : first);
    }
    const auto out = give_met(met, s.index, words);
    s.crd = s.any = out[0];
    for (size_t g = 0; g < met.size(); ++g) {
      s.refs.push_back({out[g + 1], met[g].tensor, met[g].level + 1});
    }
    add_values(s);
    spaces_.push_back(s);
  }

  /// The coordinates of a join of levels, and a reference to each.
  std::vector<StreamId> give_met(const std::vector<Ref>& met, int index, bool words) {
    if (met.size() == 2 && is_list(met[0]) && is_list(met[1]) && pick(2) == 0) {
      return b.gallop({met[0].tensor, met[0].level}, {met[1].tensor, met[1].level}, met[0].stream,
                      met[1].stream, index);
    }
    std::vector<std::vector<StreamId>> inputs;
    for (const Ref& r : met) {
      const auto [crd, ref] = b.scan(r.tensor, r.level, r.stream, index);
      inputs.push_back({crd, ref});
    }
    const NodeKind kinds[] = {NodeKind::intersect, NodeKind::unite, NodeKind::leftjoin};
    return b.join(words ? NodeKind::intersect_words : kinds[pick(3)], inputs, 0);
  }

  void repeat() {
    Space& s = any_space();
    if (s.parent < 0) return;
    const Space& p = spaces_[static_cast<size_t>(s.parent)];
    if (!p.refs.empty() && pick(2) == 0) {
      Ref r = p.refs[static_cast<size_t>(pick(static_cast<int64_t>(p.refs.size())))];
      r.stream = b.repeat(r.stream, s.any);
      s.refs.push_back(r);
    } else if (!p.vals.empty()) {
      s.vals.push_back(
          b.repeat(p.vals[static_cast<size_t>(pick(static_cast<int64_t>(p.vals.size())))], s.any));
    }
  }

  void locate() {
    Space& s = any_space();
    if (s.crd < 0) return;
    for (const Ref& r : s.refs) {
      if (r.level >= rank(r.tensor) || pick(2) == 0) continue;
      const StreamId out = b.locate(r.tensor, r.level, r.stream, {s.crd});
      s.refs.push_back({out, r.tensor, r.level + 1});
      return;
    }
  }

  void array_or_map() {
    Space& s = (pick(2) == 0 ? any_space() : space_with_values());
    if (s.vals.size() >= 2 && pick(2) == 0) {
      const Op ops[] = {Op::add, Op::mul, Op::max, Op::sub};
      const auto n = static_cast<int64_t>(s.vals.size());
      s.vals.push_back(b.map(ops[pick(4)], {s.vals[static_cast<size_t>(pick(n))],
                                            s.vals[static_cast<size_t>(pick(n))]}));
      return;
    }
    for (const Ref& r : s.refs) {
      if (r.level == rank(r.tensor) && pick(3) > 0)
        return s.vals.push_back(b.array(r.tensor, r.stream));
    }
    if (s.crd >= 0 && pick(4) == 0) {
      s.vals.push_back(b.pass(NodeKind::coordinate, s.crd, StreamKind::val));
    }
  }

  void reduce() {
    Space& s = space_with_values();
    if (s.parent < 0 || s.vals.empty()) return;
    const Reduction kinds[] = {Reduction::sum, Reduction::max, Reduction::mean};
    Space& p = spaces_[static_cast<size_t>(s.parent)];
    const StreamId value = s.vals[static_cast<size_t>(pick(static_cast<int64_t>(s.vals.size())))];
    p.vals.push_back(b.reduce(p.any, value, kinds[pick(3)]));
  }

  void accumulate() {
    Space& s = deep_space();
    const int order = 1 + static_cast<int>(pick(3) == 0);
    if (s.loops < order + 1 || s.vals.empty() || s.crd < 0) return;
    std::vector<int> chain = {space_index(s)};  // innermost first
    for (int j = 0; j < order + 1; ++j) {
      chain.push_back(spaces_[static_cast<size_t>(chain.back())].parent);
    }
    std::vector<StreamId> inputs;
    for (size_t j = chain.size(); j-- > 0;) {
      const Space& x = spaces_[static_cast<size_t>(chain[j])];
      if (j + 1 < chain.size() && x.crd < 0) return;
      inputs.push_back(j + 1 == chain.size() ? x.any : x.crd);
    }
    inputs.push_back(s.vals[static_cast<size_t>(pick(static_cast<int64_t>(s.vals.size())))]);
    const auto out = b.accumulate(order, inputs);
    int parent = chain.back();
    for (int j = 0; j < order; ++j) {
      Space made;
      made.parent = parent;
      made.crd = made.any = out[static_cast<size_t>(j)];
      made.loops = spaces_[static_cast<size_t>(parent)].loops + 1;
      const Space& of = spaces_[static_cast<size_t>(chain[static_cast<size_t>(order - 1 - j)])];
      made.extent = of.extent;
      made.index = of.index;
      if (j + 1 == order) made.vals.push_back(out.back());
      spaces_.push_back(made);
      parent = static_cast<int>(spaces_.size()) - 1;
    }
  }

  void filter() {
    Space& s = space_with_values();
    if (s.vals.empty() || s.crd < 0) return;
    std::vector<StreamId> others = {s.crd};
    others.insert(others.end(), s.vals.begin(), s.vals.end());
    const auto out = b.filter(s.vals[0], others, static_cast<float>(pick(4)));
    Space made = s;
    made.refs.clear();
    made.crd = made.any = out[0];
    made.vals.assign(out.begin() + 1, out.end());
    spaces_.push_back(made);
  }

  void drop() {
    Space s = deep_space();
    if (s.parent < 0 || s.crd < 0) return;
    Space p = spaces_[static_cast<size_t>(s.parent)];
    if (p.crd < 0) return;
    std::vector<StreamId> outer = {p.crd};
    outer.insert(outer.end(), p.vals.begin(), p.vals.end());
    std::vector<StreamId> inner = {s.crd};
    inner.insert(inner.end(), s.vals.begin(), s.vals.end());
    const auto out = b.drop(outer, inner);
    const auto split = out.begin() + static_cast<std::ptrdiff_t>(outer.size());
    p.refs.clear();
    p.crd = p.any = out[0];
    p.vals.assign(out.begin() + 1, split);
    spaces_.push_back(p);
    s.refs.clear();
    s.parent = static_cast<int>(spaces_.size()) - 1;
    s.crd = s.any = *split;
    s.vals.assign(split + 1, out.end());
    spaces_.push_back(s);
  }

  /// Moves what is one or two loops below a loop under the coordinates of another of its index.
  void align() {
    const Space& s = deep_space();
    std::vector<int> moved = {space_index(s)};  // innermost first
    int from = s.parent;
    if (from >= 0 && spaces_[static_cast<size_t>(from)].parent > 0 && pick(2) == 0) {
      moved.push_back(from);
      from = spaces_[static_cast<size_t>(from)].parent;
    }
    if (from < 0) return;
    const Space source = spaces_[static_cast<size_t>(from)];
    std::vector<int> goals;
    for (const Space& to : spaces_) {
      const bool same_loop = to.parent == source.parent && to.index == source.index;
      if (to.crd >= 0 && to.crd != source.crd && same_loop) goals.push_back(space_index(to));
    }
    if (source.parent < 0 || source.crd < 0 || goals.empty()) return;
    int goal = goals[static_cast<size_t>(pick(static_cast<int64_t>(goals.size())))];
    const StreamId to = spaces_[static_cast<size_t>(goal)].crd;
    for (size_t j = moved.size(); j-- > 0;) {
      Space made = spaces_[static_cast<size_t>(moved[j])];
      made.parent = goal;
      if (made.crd >= 0) made.crd = b.align(to, source.crd, made.crd);
      for (StreamId& val : made.vals) val = b.align(to, source.crd, val);
      for (Ref& ref : made.refs) ref.stream = b.align(to, source.crd, ref.stream);
      made.any = made.crd >= 0 ? made.crd : b.align(to, source.crd, made.any);
      goal = static_cast<int>(spaces_.size());
      spaces_.push_back(made);
    }
  }

  void pass() {
    Space& s = space_with_values();
    if (s.vals.empty()) return;
    const int64_t capacity = pick(2) == 0 ? 0 : 1 + pick(12);
    s.vals.push_back(b.pass(NodeKind::buffer, s.vals.back(), StreamKind::val, capacity));
  }

  /// Everything that nobody consumes goes into a buffer whose output is not used, or a writer.
  void sink() {
    std::vector<char> used(b.graph.streams.size(), 0);
    for (const Node& node : b.graph.nodes) {
      for (const Input& input : node.inputs) used[static_cast<size_t>(input.stream)] = 1;
    }
    const size_t n = used.size();
    for (size_t s = 0; s < n; ++s) {
      if (used[s] != 0 || pick(8) == 0) continue;
      const Stream stream = b.graph.streams[s];
      b.pass(NodeKind::buffer, static_cast<StreamId>(s), stream.kind);
    }
    write();
  }

  void write() {
    const Space& s = any_space();
    if (s.crd < 0 || s.parent < 0 || s.vals.empty() || s.extent <= 0 || s.loops > 3) return;
    std::vector<int64_t> shape;
    std::string format;
    std::vector<StreamId> crds;
    for (const Space* x = &s; x->loops > 0; x = &spaces_[static_cast<size_t>(x->parent)]) {
      if (x->crd < 0) return;
      crds.insert(crds.begin(), x->crd);
      shape.insert(shape.begin(), x->extent + 2);
      format += format.empty() ? "compressed" : ",compressed";
    }
    const TensorId y = b.output("y", shape, format);
    for (size_t l = 0; l < crds.size(); ++l) {
      b.write_level(y, static_cast<int>(l), {crds[l]});
    }
    b.write_values(y, {s.vals.back()});
  }

  std::mt19937_64 random_;
  int64_t most_;
  bool bits_;
  int64_t extent_ = 1;
  std::vector<TensorId> tensors_;
  std::vector<Space> spaces_;
};

}  // namespace fuseflow::testing
