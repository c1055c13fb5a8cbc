#include "estimate/structure.h"

#include "nodes/fibers.h"
#include "nodes/rule.h"
#include "nodes/spaces.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

class Analysis final : private FiberOrigins, private ShapingInputs {
 public:
  Analysis(const Program& program, const Graph& graph) {
    s_.program = &program;
    s_.graph = &graph;
    const std::vector<GraphTensor> tensors = graph_tensors(program);
    s_.spaces = compute_spaces(graph, tensors);
    s_.space.resize(s_.spaces.spaces.size());
    s_.canonical.resize(graph.streams.size());
    s_.structural.assign(graph.streams.size(), false);
    s_.consumers.assign(graph.streams.size(), 0);
    for (StreamId i = 0; i < static_cast<StreamId>(graph.streams.size()); ++i) {
      s_.column_info.push_back({ColumnInfo::Kind::stream, s_.space_of(i), -1, -1});
    }
  }

  Structure run() {
    for (size_t i = 0; i < s_.space.size(); ++i) {
      const Spaces::Space& space = s_.spaces.spaces[i];
      s_.space[i].parent = space.parent;
      s_.space[i].opener = space.opener;
      if (space.index >= 0) {
        s_.space[i].extent = s_.graph->indices[static_cast<size_t>(space.index)].extent;
      }
    }
    for (NodeId n = 0; n < static_cast<NodeId>(s_.graph->nodes.size()); ++n) forward(n);
    for (auto n = static_cast<NodeId>(s_.graph->nodes.size()); n-- > 0;) {
      node_rule(s_.node(n).kind).shaping(s_.node(n), *this);
    }
    for (StreamId i = 0; i < static_cast<StreamId>(s_.graph->streams.size()); ++i) {
      const int home = s_.structural[static_cast<size_t>(i)] ? s_.space_of(i) : -1;
      if (home >= 0) s_.space[static_cast<size_t>(home)].elements = true;
    }
    return std::move(s_);
  }

 private:
  SpaceInfo& space_of(StreamId stream) {
    return s_.space[static_cast<size_t>(s_.space_of(stream))];
  }
  Column& canonical(StreamId stream) { return s_.canonical[static_cast<size_t>(stream)]; }

  /// How the outputs come about, in the order of the nodes.
  void forward(NodeId id) {
    id_ = id;
    const Node& node = s_.node(id);
    for (const Input& input : node.inputs) {
      if (!input.is_immediate()) ++s_.consumers[static_cast<size_t>(input.stream)];
    }
    for (const StreamId out : node.outputs) canonical(out) = out;
    node_rule(node.kind).origins(node, *this);
  }

  void same(StreamId out, StreamId in) override { canonical(out) = canonical(in); }

  void stored() override {
    const Node& node = s_.node(id_);
    SpaceInfo& info = space_of(node.outputs[0]);
    if (info.opening != Opening::root) {
      // The node scans a space that an earlier scan opened: both count.
      canonical(node.outputs[0]) = crd_of_[s_.space_of(node.outputs[0])];
      return;
    }
    crd_of_.resize(s_.space.size());
    crd_of_[static_cast<size_t>(s_.space_of(node.outputs[0]))] = canonical(node.outputs[0]);
    info.opener = id_;
    const bool counter = node.tensor < 0;
    const auto absent = s_.spaces.may_be_absent[static_cast<size_t>(node.inputs[0].stream)];
    bool dense = counter;
    int64_t extent = info.extent;
    if (!counter) {
      const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
      const auto l = static_cast<size_t>(node.level);
      dense = tensor.format.levels[l] == LevelKind::dense && node.offset == 0;
      if (dense) {
        extent = tensor.level_extent(l);
        dense = extent <= info.extent;
      }
    }
    info.opening = dense && !absent ? Opening::counted : Opening::scanned;
    info.counted = extent;
  }

  void computed(StreamId out, int loop) override {
    SpaceInfo& info = space_of(out);
    if (info.opening != Opening::root) return;
    info.opening = Opening::computed;
    info.opener = id_;
    info.order = loop;
  }

  /// The split loop is whole again; the loops inside it are opened, one after another.
  void merged() override {
    const Node& node = s_.node(id_);
    std::vector<int> copies;
    for (const Input& in : node.inputs) copies.push_back(s_.space_of(in.stream));
    int whole = s_.space_of(node.outputs[0]);
    for (int inside = 0; inside < node.order; ++inside) {
      SpaceInfo& info = s_.space[static_cast<size_t>(whole)];
      if (info.opening == Opening::root) {
        info.opening = Opening::merged;
        info.opener = id_;
        info.copies = copies;
      }
      whole = info.parent;
      for (int& copy : copies) copy = s_.info(copy).parent;
    }
    if (node.order > 0) return;
    // What was split is whole: the stream that the first copy was dealt from.
    const Column dealt = canonical(node.inputs[0].stream);
    if (s_.column(dealt).kind != ColumnInfo::Kind::stream) return;
    const Node& split = s_.node(s_.graph->streams[static_cast<size_t>(dealt)].producer);
    if (split.kind == NodeKind::parallelize) {
      canonical(node.outputs[0]) = canonical(split.inputs[0].stream);
    }
  }

  void moved(StreamId in, StreamId out, StreamId below, StreamId to, bool aligned) override {
    const int from = s_.space_of(below);
    const int top = s_.space_of(to);
    const int id = s_.move_of(top, from, aligned ? id_ : -1);
    int origin = s_.space_of(in);
    int there = s_.space_of(out);
    s_.moved[{id, from}] = top;
    for (; origin != from; origin = s_.info(origin).parent, there = s_.info(there).parent) {
      SpaceInfo& info = s_.space[static_cast<size_t>(there)];
      s_.moved[{id, origin}] = there;
      if (info.opening != Opening::root) continue;
      info.opening = Opening::moved;
      info.origin = origin;
      info.move = id;
    }
    canonical(out) = s_.transported(canonical(in), id);
  }

  bool shapes(StreamId out) const override { return s_.structural[static_cast<size_t>(out)]; }
  bool may_be_absent(StreamId ref) const override {
    return s_.spaces.may_be_absent[static_cast<size_t>(ref)];
  }
  /// Which values are dropped follows from references (filter_rule.h).
  void add(StreamId in) override {
    if (s_.graph->streams[static_cast<size_t>(in)].kind == StreamKind::val) return;
    s_.structural[static_cast<size_t>(in)] = true;
  }

  NodeId id_ = -1;  ///< the node at hand
  Structure s_;
  std::vector<Column> crd_of_;  ///< by space: the coordinates of the scan that opened it
};

}  // namespace

bool Structure::around(int outer, int inner) const {
  while (inner >= 0 && inner != outer) inner = info(inner).parent;
  return inner >= 0;
}

bool Structure::sequential(Column c) const {
  if (column(c).kind != ColumnInfo::Kind::stream) return false;
  const SpaceInfo& here = info(home(c));
  const Node& maker = node(graph->streams[static_cast<size_t>(c)].producer);
  const auto input = [&](size_t i) {
    return canonical[static_cast<size_t>(maker.inputs[i].stream)];
  };
  if (maker.kind == NodeKind::root) return true;
  if (maker.kind == NodeKind::locate) {
    return maker.inputs.size() == 2 && here.opening == Opening::counted &&
           info(here.parent).opening == Opening::root && maker.level == 0 &&
           node(here.opener).outputs[0] == input(1);
  }
  if (maker.kind != NodeKind::scan || maker.offset != 0 || c == maker.outputs[0]) return false;
  return home(input(0)) == here.parent && sequential(input(0));
}

Column Structure::position_of(int s) {
  const auto [at, fresh] =
      interned.try_emplace({1, s, -1}, static_cast<Column>(column_info.size()));
  if (fresh) column_info.push_back({ColumnInfo::Kind::position, s, -1, -1});
  return at->second;
}

int Structure::move_of(int top, int from, NodeId align) {
  for (size_t i = 0; i < moves.size(); ++i) {
    const bool same_kind = (moves[i].align < 0) == (align < 0);
    if (moves[i].top == top && moves[i].from == from && same_kind) return static_cast<int>(i);
  }
  moves.push_back({top, from, align});
  return static_cast<int>(moves.size()) - 1;
}

Column Structure::presence_at(int move) {
  const auto [at, fresh] =
      interned.try_emplace({2, move, -1}, static_cast<Column>(column_info.size()));
  if (fresh)
    column_info.push_back(
        {ColumnInfo::Kind::presence, moves[static_cast<size_t>(move)].top, -1, move});
  return at->second;
}

Column Structure::transported(Column base, int move) {
  const auto found = moved.find({move, home(base)});
  if (found == moved.end()) return base;  // of a space around: the same for both
  const auto [at, fresh] =
      interned.try_emplace({3, base, move}, static_cast<Column>(column_info.size()));
  if (fresh) column_info.push_back({ColumnInfo::Kind::transport, found->second, base, move});
  return at->second;
}

Structure analyse_structure(const Program& program, const Graph& graph) {
  return Analysis(program, graph).run();
}

}  // namespace fuseflow::estimate
