#include "graph/spaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>

#include "support/error.h"

namespace fuseflow {

namespace {

/// One typing rule a method; a rule that fails reports and leaves its outputs untyped.
class Typing {
 public:
  Typing(const Graph& graph, std::span<const GraphTensor> tensors, const GraphError& error)
      : g_(graph), tensors_(tensors), error_(error) {
    const size_t n = graph.streams.size();
    out_.of_stream.assign(n, -1);
    out_.may_be_absent.assign(n, false);
    out_.ref_tensor.assign(n, -1);
    out_.ref_level.assign(n, -1);
    coordinates_of_.assign(n, -1);
  }

  Spaces run() {
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      id_ = n;
      node_ = &g_.nodes[n];
      if (!inputs_typed()) continue;
      apply_rule();
    }
    return std::move(out_);
  }

 private:
  /// What distinguishes two spaces below the same parent.
  using Key = std::tuple<int, int, NodeId, int64_t, int64_t>;
  /// Openers of spaces that several nodes may open alike.
  static constexpr NodeId kCounted = -1;  ///< every coordinate 0 .. a - 1
  static constexpr NodeId kAligned = -2;  ///< the fibers of space a under other coordinates
  static constexpr NodeId kMerged = -3;   ///< the a-th set of copies
  static constexpr NodeId kSplit = -10;   ///< minus a space: its copy b of a

  bool inputs_typed() const {
    for (const Input& input : node_->inputs) {
      if (!input.is_immediate() && out_.of_stream[input.stream] < 0) return false;
    }
    return true;
  }

  void apply_rule() {
    switch (node_->kind) {
      case NodeKind::root:
        return root();
      case NodeKind::scan:
        return scan();
      case NodeKind::locate:
        return locate();
      case NodeKind::repeat:
        return repeat();
      case NodeKind::intersect:
      case NodeKind::unite:
      case NodeKind::leftjoin:
        return join();
      case NodeKind::array:
        return array();
      case NodeKind::map:
        return map();
      case NodeKind::coordinate:
        return coordinate();
      case NodeKind::reduce:
        return reduce();
      case NodeKind::accumulate:
        return accumulate();
      case NodeKind::align:
        return align();
      case NodeKind::drop:
        return drop();
      case NodeKind::filter:
        return filter();
      case NodeKind::buffer:
        return buffer();
      case NodeKind::write_level:
        return write_level();
      case NodeKind::write_values:
        return write_values();
      case NodeKind::parallelize:
        return parallelize();
      case NodeKind::serialize:
        return serialize();
      case NodeKind::pad:
        return pad();
      case NodeKind::tile_load:  // graphs of tiles have rules of their own (graph/tiles.h)
      case NodeKind::tile_multiply:
      case NodeKind::exchange:
      case NodeKind::gather:
      case NodeKind::tile_hold:
      case NodeKind::shuffle:
      case NodeKind::reduce_scatter:
      case NodeKind::tile_store:
      case NodeKind::barrier_:
        return;
    }
  }

  // --- reporting and small accessors

  bool fail(const std::string& message) {
    error_(id_, fmt::format("{}: {}", node_text(g_, tensors_, id_), message));
    return false;
  }

  StreamId in(size_t i) const { return node_->inputs[i].stream; }
  const Stream& stream(StreamId s) const { return g_.streams[s]; }
  std::string name(StreamId s) const { return "$" + g_.streams[s].name; }
  int space(StreamId s) const { return out_.of_stream[s]; }
  int parent(int s) const { return out_.spaces[s].parent; }

  std::string index_list(const std::vector<int>& indices) const {
    std::vector<std::string> names;
    names.reserve(indices.size());
    for (const int i : indices) names.push_back(g_.indices[i].name);
    return fmt::format("<{}>", fmt::join(names, ","));
  }

  std::string type(StreamId s) const {
    return fmt::format("{} ({}{})", name(s), stream_kind_name(stream(s).kind),
                       index_list(stream(s).indices));
  }

  bool counts(size_t inputs, size_t outputs) {
    if (node_->inputs.size() != inputs) {
      return fail(fmt::format("has {} input(s), expected {}", node_->inputs.size(), inputs));
    }
    return output_count(outputs);
  }

  bool output_count(size_t outputs) {
    if (node_->outputs.size() == outputs) return true;
    return fail(fmt::format("has {} output(s), expected {}", node_->outputs.size(), outputs));
  }

  bool is_kind(size_t i, StreamKind kind) {
    if (stream(in(i)).kind == kind) return true;
    return fail(fmt::format("input {} is {}, expected a {} stream", i + 1, type(in(i)),
                            stream_kind_name(kind)));
  }

  bool same_space(size_t i, size_t j) {
    if (space(in(i)) == space(in(j))) return true;
    return fail(
        fmt::format("{} and {} are not in the same space (opened by different nodes or "
                    "nested differently), expected streams with the same fibers",
                    type(in(i)), type(in(j))));
  }

  /// Input `inner` is nested directly below the space of input `outer`.
  bool directly_below(size_t inner, size_t outer) {
    if (parent(space(in(inner))) == space(in(outer))) return true;
    return fail(
        fmt::format("{} is not nested directly below {}, expected one loop more over the "
                    "same outer fibers",
                    type(in(inner)), type(in(outer))));
  }

  std::string position_text(TensorId tensor, int level) const {
    return tensor < 0 ? "the root" : fmt::format("%{}.{}", tensors_[tensor].name, level);
  }

  /// Input i is a reference to the positions of `level` of the node's tensor (-1: the root).
  bool refers_to(size_t i, int level) {
    const TensorId tensor = level < 0 ? -1 : node_->tensor;
    if (!is_kind(i, StreamKind::ref)) return false;
    if (out_.ref_tensor[in(i)] == tensor && out_.ref_level[in(i)] == level) return true;
    return fail(fmt::format("{} is a reference to {}, expected one to {}", type(in(i)),
                            position_text(out_.ref_tensor[in(i)], out_.ref_level[in(i)]),
                            position_text(tensor, level)));
  }

  /// The space below `under` with the given key, made if new; `index` is its loop.
  int open(int under, int index, NodeId opener, int64_t a = 0, int64_t b = 0) {
    const Key key{under, index, opener, a, b};
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return found->second;
    const int id = static_cast<int>(out_.spaces.size());
    out_.spaces.push_back({under, id_, index, under < 0 ? 0 : out_.spaces[under].depth + 1});
    by_key_.emplace(key, id);
    return id;
  }

  /// Indices of a space, outermost first.
  std::vector<int> path(int space_id) const {
    std::vector<int> indices(out_.spaces[space_id].depth);
    for (int s = space_id; out_.spaces[s].parent >= 0; s = parent(s)) {
      indices[out_.spaces[s].depth - 1] = out_.spaces[s].index;
    }
    return indices;
  }

  /// Gives output `port` its type; its declaration must say the same.
  void give(size_t port, StreamKind kind, int space_id) {
    const StreamId s = node_->outputs[port];
    const std::vector<int> indices = path(space_id);
    if (stream(s).kind != kind || stream(s).indices != indices) {
      fail(fmt::format("output {} is declared {}{}, expected {}{}", name(s),
                       stream_kind_name(stream(s).kind), index_list(stream(s).indices),
                       stream_kind_name(kind), index_list(indices)));
      return;
    }
    out_.of_stream[s] = space_id;
    if (kind == StreamKind::crd && !indices.empty()) coordinates_of_[s] = indices.back();
  }

  /// Output `port` carries what input stream `from` carries.
  void give_like(size_t port, StreamId from, int space_id, bool absent = false) {
    give(port, stream(from).kind, space_id);
    const StreamId s = node_->outputs[port];
    out_.ref_tensor[s] = out_.ref_tensor[from];
    out_.ref_level[s] = out_.ref_level[from];
    out_.may_be_absent[s] = out_.may_be_absent[from] || absent;
    coordinates_of_[s] = coordinates_of_[from];
  }

  void give_ref(size_t port, int space_id, bool absent) {
    give(port, StreamKind::ref, space_id);
    const StreamId s = node_->outputs[port];
    out_.ref_tensor[s] = node_->tensor;
    out_.ref_level[s] = node_->level;
    out_.may_be_absent[s] = absent;
  }

  /// The innermost index that output `port` declares: opening nodes take it from there.
  int declared_index(size_t port) {
    const std::vector<int>& indices = stream(node_->outputs[port]).indices;
    if (!indices.empty()) return indices.back();
    fail(fmt::format("output {} is in no loop, expected an index to open",
                     name(node_->outputs[port])));
    return -1;
  }

  // --- rules

  void root() {
    if (!counts(0, 1)) return;
    give(0, StreamKind::ref, open(-1, -1, kCounted, node_->phase));
  }

  void scan() {
    if (node_->tensor < 0) return counter();
    if (!counts(1, 2) || !refers_to(0, node_->level - 1)) return;
    const int index = declared_index(0);
    if (index < 0) return;
    const GraphTensor& tensor = tensors_[node_->tensor];
    const int64_t extent = tensor.level_extent(node_->level);
    const bool dense = tensor.format.levels[node_->level] == LevelKind::dense && extent >= 0 &&
                       node_->offset == 0 && extent <= g_.indices[index].extent &&
                       !out_.may_be_absent[in(0)];
    const int opened =
        dense ? open(space(in(0)), index, kCounted, extent) : open(space(in(0)), index, id_);
    give(0, StreamKind::crd, opened);
    give_ref(1, opened, false);
  }

  /// A scan without a tensor: all coordinates of the loop.
  void counter() {
    if (node_->inputs.size() != 1 || node_->outputs.empty() || node_->outputs.size() > 2) {
      return (void)fail("a counter has one input and gives coordinates and, if used, references");
    }
    const int index = is_kind(0, StreamKind::ref) ? declared_index(0) : -1;
    if (index < 0) return;
    const int opened = out_.may_be_absent[in(0)]
                           ? open(space(in(0)), index, id_)
                           : open(space(in(0)), index, kCounted, g_.indices[index].extent);
    give(0, StreamKind::crd, opened);
    if (node_->outputs.size() < 2) return;
    give(1, StreamKind::ref, opened);
    out_.ref_level[node_->outputs[1]] = 0;
  }

  /// One coordinate, several that are combined (`strides`), or none (a constant subscript).
  void locate() {
    const size_t coordinates = node_->inputs.size() == 1 ? 0 : 1 + node_->strides.size();
    if (!counts(1 + coordinates, 1) || !refers_to(0, node_->level - 1)) return;
    for (size_t i = 1; i <= coordinates; ++i) {
      if (!is_kind(i, StreamKind::crd) || !same_space(0, i)) return;
    }
    const int64_t extent = tensors_[node_->tensor].level_extent(node_->level);
    const int index = coordinates > 0 ? coordinates_of_[in(1)] : -1;
    const bool always = tensors_[node_->tensor].format.levels[node_->level] == LevelKind::dense &&
                        node_->offset == 0 && node_->stride == 1 && coordinates == 1 &&
                        index >= 0 && extent >= 0 && g_.indices[index].extent <= extent;
    give_ref(0, space(in(0)), out_.may_be_absent[in(0)] || !always);
  }

  void repeat() {
    if (!counts(2, 1) || !directly_below(1, 0)) return;
    give_like(0, in(0), space(in(1)));
  }

  void join() {
    if (node_->groups.size() < 2)
      return (void)fail("has fewer than two groups, expected at least two");
    if (!output_count(node_->inputs.size() - node_->groups.size() + 1)) return;
    size_t at = 0;
    size_t port = 1;
    int opened = -1;
    const int outer = parent(space(in(0)));
    for (size_t group = 0; group < node_->groups.size(); ++group) {
      if (!is_kind(at, StreamKind::crd)) return;
      if (out_.spaces[space(in(at))].index != out_.spaces[space(in(0))].index ||
          parent(space(in(at))) != outer || outer < 0) {
        return (void)fail(
            fmt::format("{} and {} are not fibers of the same loop below the same "
                        "space, expected coordinates of one index",
                        type(in(0)), type(in(at))));
      }
      if (group == 0) {
        opened = node_->kind == NodeKind::leftjoin  // its coordinates stay as they are
                     ? space(in(0))
                     : open(outer, out_.spaces[space(in(0))].index, id_);
        give(0, StreamKind::crd, opened);
      }
      const bool absent =
          node_->kind == NodeKind::unite || (node_->kind == NodeKind::leftjoin && group > 0);
      for (int k = 1; k < node_->groups[group]; ++k) {
        if (!same_space(at, at + k)) return;
        give_like(port++, in(at + k), opened, absent);
      }
      at += node_->groups[group];
    }
  }

  void array() {
    const int last = tensors_[node_->tensor].format.rank() - 1;
    if (!counts(1, 1) || !refers_to(0, last)) return;
    give(0, StreamKind::val, space(in(0)));
  }

  void map() {
    const int arity = op_info(node_->op).arity;
    if (!counts(arity, 1)) return;
    int first = -1;
    for (int i = 0; i < arity; ++i) {
      if (node_->inputs[i].is_immediate()) continue;
      if (!is_kind(i, StreamKind::val)) return;
      if (first < 0) first = i;
      if (!same_space(first, i)) return;
    }
    if (first < 0) return (void)fail("has only immediate operands, expected at least one stream");
    give(0, StreamKind::val, space(in(first)));
  }

  void coordinate() {
    if (!counts(1, 1) || !is_kind(0, StreamKind::crd)) return;
    give(0, StreamKind::val, space(in(0)));
  }

  /// The coordinates are of the value's space or of loops around it.
  void pad() {
    if (node_->inputs.empty() || !is_kind(0, StreamKind::val) || !output_count(1)) return;
    for (size_t i = 1; i < node_->inputs.size(); ++i) {
      if (!is_kind(i, StreamKind::crd)) return;
      int around = space(in(0));
      while (around >= 0 && around != space(in(i))) around = parent(around);
      if (around < 0) {
        return (void)fail(fmt::format("{} is neither in the space of {} nor around it", type(in(i)),
                                      type(in(0))));
      }
    }
    give(0, StreamKind::val, space(in(0)));
  }

  void reduce() {
    const size_t inputs = node_->inputs.size() == 1 ? 1 : 2;
    const size_t value = inputs - 1;
    if (!counts(inputs, 1) || !is_kind(value, StreamKind::val)) return;
    if (inputs == 2 && !directly_below(1, 0)) return;
    const int outer = parent(space(in(value)));
    if (outer < 0)
      return (void)fail(fmt::format("{} is in no loop that could end", type(in(value))));
    give(0, StreamKind::val, outer);
  }

  /// (parent<S>, crd<S,k>, crd<S,k,j1>, .., val<S,k,j1..jn>) -> crd<S,j1>, .., val<S,j1..jn>
  void accumulate() {
    const size_t order = static_cast<size_t>(node_->order);
    if (node_->order < 1) return (void)fail("has order 0, expected at least 1 (use reduce)");
    if (!counts(order + 3, order + 1)) return;
    for (size_t i = 1; i <= order + 1; ++i) {
      if (!is_kind(i, StreamKind::crd) || !directly_below(i, i - 1)) return;
    }
    if (!is_kind(order + 2, StreamKind::val) || !same_space(order + 1, order + 2)) return;
    int outer = space(in(0));
    for (size_t i = 0; i < order; ++i) {
      outer = open(outer, out_.spaces[space(in(i + 2))].index, id_);
      give(i, StreamKind::crd, outer);
    }
    give(order, StreamKind::val, outer);
  }

  /// Outer elements whose inner fiber is empty disappear; so all spaces below change their parent.
  void drop() {
    if (node_->groups.size() != 2 || node_->groups[0] < 1 || node_->groups[1] < 1) {
      return (void)fail("needs outer inputs, `;`, inner inputs");
    }
    const size_t outer_count = static_cast<size_t>(node_->groups[0]);
    if (!output_count(node_->inputs.size()) || !is_kind(0, StreamKind::crd)) return;
    const int outer = space(in(0));
    if (parent(outer) < 0 || !directly_below(outer_count, 0)) {
      if (parent(outer) < 0) fail(fmt::format("{} is in no loop", type(in(0))));
      return;
    }
    const int kept = open(parent(outer), out_.spaces[outer].index, id_, outer);
    for (size_t i = 0; i < node_->inputs.size(); ++i) {
      if (i < outer_count) {
        if (!same_space(0, i)) return;
        give_like(i, in(i), kept);
        continue;
      }
      const int moved = move_below(space(in(i)), outer, kept, id_);
      if (moved < 0) {
        return (void)fail(fmt::format("{} is not nested below {}, expected a stream of its fibers",
                                      type(in(i)), type(in(0))));
      }
      give_like(i, in(i), moved);
    }
  }

  /// The space that replaces `inner` when its ancestor `outer` becomes `kept`; -1 if it is not
  /// below.
  int move_below(int inner, int outer, int kept, int opener) {
    if (inner == outer) return kept;
    if (inner < 0 || parent(inner) < 0) return -1;
    const int under = move_below(parent(inner), outer, kept, opener);
    return under < 0 ? -1 : open(under, out_.spaces[inner].index, opener, inner);
  }

  /// The first input decides, the others are filtered.
  void filter() {
    if (node_->inputs.size() < 2) return (void)fail("needs a value and its coordinates");
    if (!output_count(node_->inputs.size() - 1) || !is_kind(0, StreamKind::val) ||
        !is_kind(1, StreamKind::crd)) {
      return;
    }
    const int from = space(in(0));
    if (parent(from) < 0) return (void)fail(fmt::format("{} is in no loop", type(in(0))));
    const int kept = open(parent(from), out_.spaces[from].index, id_);
    for (size_t i = 1; i < node_->inputs.size(); ++i) {
      if (!same_space(0, i)) return;
      give_like(i - 1, in(i), kept);
    }
  }

  void buffer() {
    if (!counts(1, 1)) return;
    give_like(0, in(0), space(in(0)));
  }

  /// The fibers of the third input, moved from below `from` to below `to`.
  void align() {
    if (!counts(3, 1) || !is_kind(0, StreamKind::crd) || !is_kind(1, StreamKind::crd)) return;
    const int to = space(in(0));
    const int from = space(in(1));
    if (parent(to) < 0 || parent(to) != parent(from) ||
        out_.spaces[to].index != out_.spaces[from].index) {
      return (void)fail(
          fmt::format("{} and {} are not fibers of the same loop below the same space, "
                      "expected coordinates of one index",
                      type(in(0)), type(in(1))));
    }
    const int moved = space(in(2)) == from ? -1 : move_below(space(in(2)), from, to, kAligned);
    if (moved < 0) {
      return (void)fail(fmt::format("{} is not nested below {}, expected a stream of its fibers",
                                    type(in(2)), type(in(1))));
    }
    give_like(0, in(2), moved);
  }

  /// The coordinates that stand before the last input: one a dense level, each in the space of the
  /// last input or around it.
  bool leading_coordinates(size_t count, std::string_view last) {
    if (!output_count(0)) return false;
    if (node_->inputs.size() != count + 1) {
      return fail(
          fmt::format("has {} inputs, expected {}: the coordinates of {} dense level(s), then "
                      "the {}",
                      node_->inputs.size(), count + 1, count, last));
    }
    for (size_t i = 0; i < count; ++i) {
      if (!is_kind(i, StreamKind::crd)) return false;
      int around = space(in(count));
      while (around >= 0 && around != space(in(i))) around = parent(around);
      if (around < 0) {
        return fail(fmt::format("{} is neither in the space of {} nor around it", type(in(i)),
                                type(in(count))));
      }
    }
    return true;
  }

  /// Dense levels directly above level `l`.
  size_t dense_levels_above(int l) const {
    const std::vector<LevelKind>& levels = tensors_[node_->tensor].format.levels;
    size_t count = 0;
    while (l > 0 && levels[--l] == LevelKind::dense) ++count;
    return count;
  }

  void write_level() {
    if (tensors_[node_->tensor].format.levels[node_->level] == LevelKind::dense) {
      return (void)fail(
          "the level is dense and is not written, expected its coordinates at the next "
          "level below that is not, or at write_values");
    }
    const size_t count = dense_levels_above(node_->level);
    if (leading_coordinates(count, "level's coordinates")) is_kind(count, StreamKind::crd);
  }

  void write_values() {
    const int rank = tensors_[node_->tensor].format.rank();
    const size_t count = dense_levels_above(rank);
    if (!leading_coordinates(count, "values") || !is_kind(count, StreamKind::val)) return;
    const int depth = out_.spaces[space(in(count))].depth;
    if (depth != rank) {
      fail(fmt::format("{} is nested {} deep, expected {} loops (the rank of %{})", type(in(count)),
                       depth, rank, tensors_[node_->tensor].name));
    }
  }

  /// Copy p of a split of space S is the same space for all payloads that are split alike.
  void parallelize() {
    const size_t inputs = node_->contiguous ? 2 : 1;
    if (!counts(inputs, node_->outputs.size())) return;
    if (inputs == 2 && (!is_kind(1, StreamKind::crd) || !same_space(0, 1))) return;
    if (node_->outputs.size() < 2)
      return (void)fail("has fewer than two outputs, expected one a copy");
    const int from = space(in(0));
    if (parent(from) < 0) return (void)fail(fmt::format("{} is in no loop to split", type(in(0))));
    const auto copies = static_cast<int64_t>(node_->outputs.size());
    for (int64_t p = 0; p < copies; ++p) {
      const int copy = open(parent(from), out_.spaces[from].index, kSplit - from,
                            2 * copies + (node_->contiguous ? 1 : 0), p);
      split_of_[copy] = {from, copies, p, node_->contiguous};
      give_like(static_cast<size_t>(p), in(0), copy);
    }
  }

  /// The streams are `order` loops inside the copies of one split: the split loop becomes whole
  /// again, and each loop inside it one loop for all streams merged alike.
  void serialize() {
    const size_t copies = node_->inputs.size();
    if (copies < 2) return (void)fail("has fewer than two inputs, expected one a copy");
    if (!output_count(1)) return;
    std::vector<std::vector<int>> levels;  // spaces of the copies, innermost loop first
    std::vector<int> spaces;
    for (size_t p = 0; p < copies; ++p) {
      if (stream(in(p)).kind != stream(in(0)).kind ||
          stream(in(p)).indices != stream(in(0)).indices ||
          out_.ref_tensor[in(p)] != out_.ref_tensor[in(0)] ||
          out_.ref_level[in(p)] != out_.ref_level[in(0)]) {
        return (void)fail(
            fmt::format("{} and {} are not copies of one stream, expected the same "
                        "kind and loops",
                        type(in(0)), type(in(p))));
      }
      spaces.push_back(space(in(p)));
    }
    for (int inside = 0; inside < node_->order && parent(spaces[0]) >= 0; ++inside) {
      levels.push_back(spaces);
      for (int& s : spaces) s = parent(s);
    }
    const auto split = split_of_.find(spaces[0]);
    if (split == split_of_.end() || !is_whole_split(spaces)) {
      return (void)fail(fmt::format(
          "the loop around {} loop(s) of {} is not one that a parallelize has split into these {} "
          "copies, in order",
          node_->order, type(in(0)), copies));
    }
    if (split->second.contiguous != node_->contiguous) {
      return (void)fail("merges in another way than the elements were dealt out (split=)");
    }
    int merged = split->second.from;
    for (size_t l = levels.size(); l-- > 0;) {
      merged = open(merged, out_.spaces[levels[l][0]].index, kMerged, merge_key(levels[l]));
    }
    bool absent = false;
    for (size_t p = 0; p < copies; ++p) absent = absent || out_.may_be_absent[in(p)];
    give_like(0, in(0), merged, absent);
  }

  /// The spaces are the copies 0, 1, .. of one split.
  bool is_whole_split(const std::vector<int>& spaces) const {
    const Split& first = split_of_.at(spaces[0]);
    for (size_t p = 0; p < spaces.size(); ++p) {
      const auto split = split_of_.find(spaces[p]);
      const Split expected{first.from, static_cast<int64_t>(spaces.size()), static_cast<int64_t>(p),
                           first.contiguous};
      if (split == split_of_.end() || split->second != expected) return false;
    }
    return true;
  }

  /// Merging the same spaces gives the same space, whichever payload is merged.
  int64_t merge_key(const std::vector<int>& key) {
    return merges_.emplace(key, static_cast<int64_t>(merges_.size())).first->second;
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const GraphError& error_;
  Spaces out_;
  std::vector<int>
      coordinates_of_;  ///< by crd stream: the loop they are of (a repeated one's is outer)
  std::map<Key, int> by_key_;
  /// What a copy of a loop is a part of.
  struct Split {
    int from = -1;  ///< the space that was split
    int64_t copies = 0;
    int64_t copy = 0;
    bool contiguous = false;
    bool operator==(const Split&) const = default;
  };
  std::map<int, Split> split_of_;  ///< by space
  std::map<std::vector<int>, int64_t> merges_;
  NodeId id_ = -1;
  const Node* node_ = nullptr;
};

}  // namespace

int64_t GraphTensor::level_extent(int l) const {
  const int dimension = format.mode_order[l];
  return format.coordinates(static_cast<size_t>(dimension), shape[dimension]);
}

std::string node_text(const Graph& graph, std::span<const GraphTensor> tensors, NodeId id) {
  const Node& node = graph.nodes[id];
  const NodeKindInfo& info = node_kind_info(node.kind);
  std::string text(info.name);
  if (info.tensor && node.tensor >= 0 && static_cast<size_t>(node.tensor) < tensors.size()) {
    text += " %" + tensors[node.tensor].name;
    if (info.level) text += fmt::format(".{}", node.level);
  }
  if (info.op) text += fmt::format(" {}", op_info(node.op).name);
  if (info.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
  if (!node.outputs.empty() && node.outputs[0] >= 0 &&
      static_cast<size_t>(node.outputs[0]) < graph.streams.size()) {
    text = fmt::format("${} = {}", graph.streams[node.outputs[0]].name, text);
  }
  return text;
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors,
                      const GraphError& error) {
  return Typing(graph, tensors, error).run();
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors) {
  const GraphError fail = [](NodeId, std::string message) {
    throw Error(ExitCode::rejected, std::move(message));
  };
  return compute_spaces(graph, tensors, fail);
}

}  // namespace fuseflow
