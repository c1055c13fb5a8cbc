#include "lower/join_phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "lower/graph_builder.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// The loops of a region's graph: phases that are in loops of the same index share them.
class SharedLoops {
 public:
  explicit SharedLoops(const std::vector<RegionIndex>& indices) : indices_(indices) {}

  /// The loop of an index (-1: of a single iteration), `around` times in itself.
  int find(int index, int around) {
    const auto [place, is_new] =
        numbers_.try_emplace({index, around}, static_cast<int>(loops_.size()));
    if (is_new) {
      loops_.push_back(made(index, around));
      index_of_.push_back(index);
      same_.push_back(place->second);
    }
    return place->second;
  }

  /// What two loops that turned out to be one are called: as the first.
  void unite(int a, int b) {
    a = first_of(a);
    b = first_of(b);
    same_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  int first_of(int loop) const {
    while (same_[static_cast<size_t>(loop)] != loop) loop = same_[static_cast<size_t>(loop)];
    return loop;
  }

  const std::vector<GraphIndex>& all() const { return loops_; }
  int index_of(int loop) const { return index_of_[static_cast<size_t>(loop)]; }

 private:
  GraphIndex made(int index, int around) {
    if (index < 0) return {unused("one", 1), 1};
    const RegionIndex& known = indices_[static_cast<size_t>(index)];
    if (around == 0 || known.name.empty()) return {known.name, known.extent};
    return {unused(known.name, around), known.extent};
  }

  /// What neither an index of the region nor another loop is called.
  std::string unused(const std::string& base, int first) {
    if (taken_.empty()) {
      for (const RegionIndex& index : indices_) taken_.insert(index.name);
    }
    const auto taken = [&](const std::string& name) { return taken_.contains(name); };
    return *taken_.insert(unused_name(base, ".", first, taken)).first;
  }

  const std::vector<RegionIndex>& indices_;
  std::map<std::pair<int, int>, int> numbers_;
  std::set<std::string> taken_;  ///< names; empty: no loop needed one of its own
  std::vector<GraphIndex> loops_;
  std::vector<int> index_of_;  ///< by loop
  std::vector<int> same_;      ///< by loop: another one that it is the same as, or itself
};

class PhaseJoiner {
 public:
  PhaseJoiner(const std::vector<RegionIndex>& indices, const std::vector<PhasePart>& parts)
      : parts_(parts), loops_(indices), indices_(indices) {}

  JoinedPhases run(bool buffers, size_t max_nodes) {
    check_room(max_nodes);
    take_nodes(buffers);
    number_loops();
    reserve();
    size_t last_origin = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      add_streams(p);
      add_nodes(p, last_origin);
      last_origin = parts_[p].names.statements[parts_[p].lowered->last_origin];
      add_join_places(parts_[p]);
    }
    return std::move(result_);
  }

 private:
  /// What is there of a part, and where its numbers begin in the whole.
  struct Place {
    const LoweredPhase::Nodes* nodes = nullptr;
    size_t plain_streams = 0;
    size_t first_plain = 0;     ///< stream
    size_t first_buffered = 0;  ///< stream
    size_t first_node = 0;
    std::vector<int> loops;  ///< by loop of the phase: of the whole
  };

  void check_room(size_t max_nodes) const {
    size_t made = 0;
    size_t spaces = 0;  // of one phase
    for (const PhasePart& part : parts_) {
      made += part.lowered->made;
      spaces = std::max(spaces, part.lowered->spaces);
    }
    const size_t most = std::max(made, spaces);
    if (most > max_nodes) GraphBuilder(max_nodes).check_room(most);
  }

  void take_nodes(bool buffers) {
    const auto all = [&](const auto& is) { return std::all_of(parts_.begin(), parts_.end(), is); };
    const bool late =
        buffers && all([](const PhasePart& part) { return part.lowered->may_start_late(); });
    const bool none =
        !buffers || all([&](const PhasePart& part) { return !part.lowered->needs_buffers(late); });
    for (const PhasePart& part : parts_) {
      Place& place = places_.emplace_back();
      place.nodes = none ? &part.lowered->plain : &part.lowered->with_buffers(late);
      place.plain_streams = part.lowered->plain.graph.streams.size();
    }
  }

  void number_loops() {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const LoweredPhase& phase = *parts_[p].lowered;
      std::vector<int>& loops = places_[p].loops;
      for (const PhaseLoop& loop : phase.loops) {
        const int index =
            loop.index < 0 ? -1 : parts_[p].names.indices[static_cast<size_t>(loop.index)];
        loops.push_back(loops_.find(index, loop.around));
      }
      for (const auto& [a, b] : phase.same_loops) {
        loops_.unite(loops[static_cast<size_t>(a)], loops[static_cast<size_t>(b)]);
      }
    }
    number_.assign(loops_.all().size(), -1);
  }

  void reserve() {
    size_t nodes = 0;
    size_t streams = 0;
    for (Place& place : places_) {
      place.first_node = nodes;
      place.first_plain = streams;
      nodes += place.nodes->graph.nodes.size();
      streams += place.plain_streams;
    }
    for (Place& place : places_) {
      place.first_buffered = streams;
      streams += place.nodes->graph.streams.size() - place.plain_streams;
    }
    result_.graph.nodes.reserve(nodes);
    result_.graph.streams.resize(streams);
    result_.origins.reserve(nodes);
  }

  static StreamId stream_of(const Place& place, StreamId stream) {
    const auto s = static_cast<size_t>(stream);
    const size_t there = s < place.plain_streams ? place.first_plain + s
                                                 : place.first_buffered + s - place.plain_streams;
    return static_cast<StreamId>(there);
  }

  void add_streams(size_t p) {
    const Place& place = places_[p];
    const Graph& graph = place.nodes->graph;
    for (size_t s = 0; s < graph.streams.size(); ++s) {
      Stream& stream =
          result_.graph.streams[static_cast<size_t>(stream_of(place, static_cast<StreamId>(s)))];
      stream = graph.streams[s];
      stream.producer += static_cast<NodeId>(place.first_node);
      for (int& index : stream.indices) index = loop_of(p, index);
    }
  }

  /// The loop of a phase's graph in the whole: numbered when the first stream is in it.
  int loop_of(size_t p, int index) {
    const int own = parts_[p].lowered->loop_of[static_cast<size_t>(index)];
    const int loop = loops_.first_of(places_[p].loops[static_cast<size_t>(own)]);
    int& number = number_[static_cast<size_t>(loop)];
    if (number < 0) {
      number = static_cast<int>(result_.graph.indices.size());
      result_.graph.indices.push_back(loops_.all()[static_cast<size_t>(loop)]);
      result_.loop_indices.push_back(loops_.index_of(loop));
    }
    return number;
  }

  /// `before`: the statement that was lowered last; a root stands for none of its own.
  void add_nodes(size_t p, size_t before) {
    const Place& place = places_[p];
    const PhaseNames& names = parts_[p].names;
    for (size_t n = 0; n < place.nodes->graph.nodes.size(); ++n) {
      Node& node = result_.graph.nodes.emplace_back(place.nodes->graph.nodes[n]);
      node.phase = parts_[p].phase;
      for (Input& input : node.inputs) {
        if (!input.is_immediate()) input.stream = stream_of(place, input.stream);
      }
      for (StreamId& output : node.outputs) output = stream_of(place, output);
      for_tensors(node,
                  [&](TensorId& tensor) { tensor = names.tensors[static_cast<size_t>(tensor)]; });
      result_.origins.push_back(
          node.kind == NodeKind::root ? before : names.statements[place.nodes->origins[n]]);
    }
  }

  void add_join_places(const PhasePart& part) {
    for (size_t i = 0; i < part.lowered->join_places.size(); ++i) {
      JoinPlace place = part.lowered->join_places[i];
      const auto own = static_cast<size_t>(part.lowered->join_indices[i]);
      place.index = indices_[static_cast<size_t>(part.names.indices[own])].name;
      for (TensorId& tensor : place.tensors) {
        tensor = part.names.tensors[static_cast<size_t>(tensor)];
      }
      std::vector<JoinPlace>& all = result_.join_places;
      if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(std::move(place));
    }
  }

  const std::vector<PhasePart>& parts_;
  SharedLoops loops_;
  const std::vector<RegionIndex>& indices_;
  std::vector<Place> places_;  ///< by part
  std::vector<int> number_;    ///< by loop of loops_: of the graph, once it is there
  JoinedPhases result_;
};

}  // namespace

JoinedPhases join_phases(const std::vector<RegionIndex>& indices,
                         const std::vector<PhasePart>& parts, bool buffers, size_t max_nodes) {
  return PhaseJoiner(indices, parts).run(buffers, max_nodes);
}

}  // namespace fuseflow
