#include "estimate/phase_counts.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "estimate/count_within.h"
#include "graph/graph_key.h"
#include "support/error.h"

namespace fuseflow::estimate {

namespace {

/// Of phases that are kept; a node takes about as many bytes as its counts.
constexpr size_t kMostNodes = 200'000;

template <typename T>
int shifted(T number, size_t by) {
  return number < 0 ? -1 : static_cast<int>(number) + static_cast<int>(by);
}

}  // namespace

bool PhaseCounts::may_count(const Graph& graph) {
  return !graph.tiles && std::all_of(graph.indices.begin(), graph.indices.end(),
                                     [](const GraphIndex& index) { return index.size < 0; });
}

/// Cuts a graph into its phases.
class PhaseCounts::PartFinder {
 public:
  PartFinder(const Program& program, const Graph& graph)
      : program_(program),
        graph_(graph),
        streams_(graph.streams.size(), -1),
        indices_(graph.indices.size(), -1),
        tensors_(program.tensors.size(), -1) {}

  std::vector<Part> run() {
    std::vector<Part> parts;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (n == 0 || node.phase != graph_.nodes[n - 1].phase) {
        if (n > 0) finish(parts.back());
        parts.emplace_back().first = static_cast<NodeId>(n);
      }
      part_ = &parts.back();
      part_->last = static_cast<NodeId>(n) + 1;
      add(node);
    }
    if (!parts.empty()) finish(parts.back());
    return parts;
  }

  // What write_value() of graph/graph_key.h writes to.
  void number(int64_t value) { part_->key.push_back(value); }
  void real(float value) { number(std::bit_cast<int32_t>(value)); }
  void tensor(TensorId tensor) { number(own(tensor, tensors_, part_->tensors)); }
  void stream(StreamId stream) { number(own(stream, streams_, part_->streams)); }

 private:
  template <typename Id>
  static int own(Id id, std::vector<int>& numbers, std::vector<Id>& all) {
    if (id < 0) return -1;
    int& number = numbers[static_cast<size_t>(id)];
    if (number < 0) {
      number = static_cast<int>(all.size());
      all.push_back(id);
    }
    return number;
  }

  /// All fields but the phase.
  void add(const Node& node) {
    const Node& none = default_node();
    int64_t field = 0;
    for_each_field([&](const auto& row) {
      using Row = std::remove_cvref_t<decltype(row)>;
      ++field;
      if constexpr (std::is_same_v<decltype(row.member), int Node::*>) {
        if (row.member == &Node::phase) return;
      }
      if (row.rule.differ < Differ::among_copies || is_default(node, row, none)) return;
      number(field);
      write_value<Row::names>(value_of(node, row.member), *this);
    });
    number(0);
    for (const StreamId output : node.outputs) {
      const Stream& given = graph_.streams[static_cast<size_t>(output)];
      number(static_cast<int64_t>(given.kind));
      number(static_cast<int64_t>(given.indices.size()));
      for (const int index : given.indices) number(own(index, indices_, part_->indices));
    }
  }

  void finish(Part& part) {
    part_ = &part;
    for (const int index : part.indices) {
      write_index(graph_.indices[static_cast<size_t>(index)], *this);
      indices_[static_cast<size_t>(index)] = -1;
    }
    for (const TensorId id : part.tensors) {
      const Tensor& tensor = program_.tensors[static_cast<size_t>(id)];
      write_value(tensor.format.levels, *this);
      write_value(tensor.format.mode_order, *this);
      write_value(tensor.format.block, *this);
      for (const Extent& extent : tensor.shape) number(extent.value);
      real(tensor.fill);
      number(static_cast<int64_t>(tensor.type));
      tensors_[static_cast<size_t>(id)] = -1;
    }
  }

  const Program& program_;
  const Graph& graph_;
  std::vector<int> streams_;  ///< own numbers in the part at hand
  std::vector<int> indices_;
  std::vector<int> tensors_;
  Part* part_ = nullptr;
};

namespace {

/// A phase as a graph of its own; tensors are those of the program.
Graph graph_of(const Graph& graph, NodeId first, NodeId last, const std::vector<StreamId>& streams,
               const std::vector<int>& indices) {
  Graph own;
  std::vector<StreamId> stream_number(graph.streams.size(), -1);
  std::vector<int> index_number(graph.indices.size(), -1);
  for (size_t i = 0; i < indices.size(); ++i) {
    index_number[static_cast<size_t>(indices[i])] = static_cast<int>(i);
    own.indices.push_back(graph.indices[static_cast<size_t>(indices[i])]);
  }
  for (size_t s = 0; s < streams.size(); ++s) {
    stream_number[static_cast<size_t>(streams[s])] = static_cast<StreamId>(s);
    Stream& stream = own.streams.emplace_back(graph.streams[static_cast<size_t>(streams[s])]);
    stream.producer -= first;
    for (int& index : stream.indices) index = index_number[static_cast<size_t>(index)];
  }
  for (NodeId n = first; n < last; ++n) {
    Node& node = own.nodes.emplace_back(graph.nodes[static_cast<size_t>(n)]);
    node.phase = 0;
    for (Input& input : node.inputs) {
      if (!input.is_immediate()) input.stream = stream_number[static_cast<size_t>(input.stream)];
    }
    for (StreamId& output : node.outputs) output = stream_number[static_cast<size_t>(output)];
  }
  return own;
}

}  // namespace

const PhaseCounts::Counted& PhaseCounts::counted(size_t& rows_left, const Program& program,
                                                 const Graph& graph, const Part& part,
                                                 const TensorData& data,
                                                 const std::vector<bool>& uncertain,
                                                 const std::vector<Written>& earlier) {
  Key key = part.key;
  std::vector<std::shared_ptr<const Storage>> read;
  for (const TensorId tensor : part.tensors) {
    const auto t = static_cast<size_t>(tensor);
    const auto before = std::find_if(earlier.begin(), earlier.end(), [&](const Written& written) {
      return written.tensor == tensor;
    });
    const bool is_written = before != earlier.end();
    read.push_back(is_written ? before->pattern : data.storage[t]);
    key.push_back(std::bit_cast<int64_t>(read.back().get()));
    key.push_back((uncertain[t] ? 4 : 0) + (is_written ? 2 : 0) +
                  (is_written && before->certain ? 1 : 0));
  }
  const auto found = known_.find(key);
  if (found != known_.end()) {
    if (found->second.rows > rows_left) refuse_rows();
    rows_left -= found->second.rows;
    return found->second;
  }
  const Graph own = graph_of(graph, part.first, part.last, part.streams, part.indices);
  const size_t before = rows_left;
  Counted counted;
  counted.counts = count_part(rows_left, program, own, data, uncertain, earlier);
  counted.rows = before - rows_left;
  counted.read = std::move(read);
  std::vector<int> number(program.tensors.size(), -1);
  for (size_t i = 0; i < part.tensors.size(); ++i) {
    number[static_cast<size_t>(part.tensors[i])] = static_cast<int>(i);
  }
  for (Written& written : counted.counts.written) {
    written.tensor = number[static_cast<size_t>(written.tensor)];
  }
  Structure& structure = counted.counts.structure;
  for (TensorId& tensor : structure.spaces.ref_tensor) {
    if (tensor >= 0) tensor = number[static_cast<size_t>(tensor)];
  }
  structure.program = nullptr;
  structure.graph = nullptr;
  nodes_ += own.nodes.size();
  if (nodes_ > kMostNodes) {
    known_.clear();
    nodes_ = own.nodes.size();
  }
  return known_.emplace(std::move(key), std::move(counted)).first->second;
}

/// Puts the counts of phases beside each other.
class PhaseCounts::PartJoiner {
 public:
  PartJoiner(const Program& program, const Graph& graph) {
    s_.program = &program;
    s_.graph = &graph;
    const size_t streams = graph.streams.size();
    s_.canonical.resize(streams);
    s_.structural.assign(streams, false);
    s_.consumers.assign(streams, 0);
    s_.column_info.resize(streams);
    s_.spaces.of_stream.assign(streams, -1);
    s_.spaces.may_be_absent.assign(streams, false);
    s_.spaces.ref_tensor.assign(streams, -1);
    s_.spaces.ref_level.assign(streams, -1);
    result_.counts.node.reserve(graph.nodes.size());
    result_.counts.needs.reserve(graph.nodes.size());
  }

  void add(const Part& part, const Counted& counted) {
    const Structure& own = counted.counts.structure;
    const Counts& counts = counted.counts.counts;
    add_streams(part, own);
    add_spaces(part, own);
    append(counts.space, result_.counts.space);
    append(counts.node, result_.counts.node);
    append(counts.needs, result_.counts.needs);
    append(counts.certain, result_.counts.certain);
    for (Written written : counted.counts.written) {
      written.tensor = part.tensors[static_cast<size_t>(written.tensor)];
      result_.written.push_back(std::move(written));
    }
  }

  const std::vector<Written>& written() const { return result_.written; }

  ExactCounts finish(const std::vector<bool>& uncertain) {
    result_.counts.by_values = uncertain;
    result_.counts.by_values.resize(s_.program->tensors.size(), false);
    for (const Written& written : result_.written) {
      if (!written.certain) result_.counts.by_values[static_cast<size_t>(written.tensor)] = true;
    }
    result_.structure = std::move(s_);
    return std::move(result_);
  }

 private:
  template <typename T>
  static void append(const std::vector<T>& from, std::vector<T>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void add_streams(const Part& part, const Structure& own) {
    const size_t spaces = s_.space.size();
    const size_t streams = part.streams.size();
    const size_t extras = s_.column_info.size();
    const auto whole = [&](Column c) -> Column {
      if (c < 0) return c;
      const auto column = static_cast<size_t>(c);
      return column < streams ? part.streams[column]
                              : static_cast<Column>(extras + column - streams);
    };
    s_.column_info.resize(extras + own.column_info.size() - streams);
    for (size_t c = 0; c < own.column_info.size(); ++c) {
      const ColumnInfo& info = own.column_info[c];
      s_.column_info[static_cast<size_t>(whole(static_cast<Column>(c)))] = {
          info.kind, shifted(info.home, spaces), whole(info.base),
          shifted(info.move, s_.moves.size())};
    }
    for (size_t i = 0; i < streams; ++i) {
      const auto s = static_cast<size_t>(part.streams[i]);
      s_.canonical[s] = whole(own.canonical[i]);
      s_.structural[s] = own.structural[i];
      s_.consumers[s] = own.consumers[i];
      s_.spaces.of_stream[s] = shifted(own.spaces.of_stream[i], spaces);
      s_.spaces.may_be_absent[s] = own.spaces.may_be_absent[i];
      const TensorId tensor = own.spaces.ref_tensor[i];
      s_.spaces.ref_tensor[s] = tensor < 0 ? tensor : part.tensors[static_cast<size_t>(tensor)];
      s_.spaces.ref_level[s] = own.spaces.ref_level[i];
    }
  }

  void add_spaces(const Part& part, const Structure& own) {
    const size_t spaces = s_.space.size();
    const size_t moves = s_.moves.size();
    const auto node = static_cast<size_t>(part.first);
    for (const SpaceInfo& info : own.space) {
      SpaceInfo& there = s_.space.emplace_back(info);
      there.parent = shifted(info.parent, spaces);
      there.opener = shifted(info.opener, node);
      there.origin = shifted(info.origin, spaces);
      there.move = shifted(info.move, moves);
      for (int& copy : there.copies) copy = shifted(copy, spaces);
    }
    for (const Spaces::Space& space : own.spaces.spaces) {
      s_.spaces.spaces.push_back(
          {shifted(space.parent, spaces), shifted(space.opener, node),
           space.index < 0 ? space.index : part.indices[static_cast<size_t>(space.index)],
           space.depth, shifted(space.elements_of, spaces)});
    }
    for (const auto& [space, split] : own.spaces.split_of) {
      Spaces::Split there = split;
      there.from = shifted(split.from, spaces);
      s_.spaces.split_of.emplace(shifted(space, spaces), there);
    }
    for (const Move& move : own.moves) {
      s_.moves.push_back(
          {shifted(move.top, spaces), shifted(move.from, spaces), shifted(move.align, node)});
    }
  }

  Structure s_;
  ExactCounts result_;
};

ExactCounts PhaseCounts::count(size_t& rows_left, const Program& program, const Graph& graph,
                               const TensorData& data, const std::vector<bool>& uncertain) {
  PartJoiner joiner(program, graph);
  for (const Part& part : PartFinder(program, graph).run()) {
    joiner.add(part, counted(rows_left, program, graph, part, data, uncertain, joiner.written()));
  }
  return joiner.finish(uncertain);
}

}  // namespace fuseflow::estimate
