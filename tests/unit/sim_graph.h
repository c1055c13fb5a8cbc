// Builds small programs and graphs by hand for tests of the simulator, and shows streams as text.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/run.h"

namespace fuseflow::testing {

/// A graph under construction; streams are returned by the method that makes their producer.
class GraphBuilder {
 public:
  Program program;
  Graph graph;
  TensorData data;

  /// A tensor that is read; `values` are all elements, row-major.
  TensorId input(const std::string& name, std::vector<int64_t> shape, const std::string& format,
                 std::vector<float> values, float fill = 0) {
    const TensorId id = tensor(name, shape, format, fill);
    auto stored = std::make_shared<Storage>(
        from_dense(Buffer<float>(std::move(values)), shape, parse_format(format), fill));
    data.storage.resize(program.tensors.size());
    data.storage.back() = std::move(stored);
    return id;
  }
  TensorId output(const std::string& name, std::vector<int64_t> shape, const std::string& format,
                  float fill = 0) {
    const TensorId id = tensor(name, shape, format, fill);
    program.tensors.back().role = Role::result;
    data.storage.resize(program.tensors.size());
    return id;
  }
  int index(const std::string& name, int64_t extent) {
    graph.indices.push_back({name, extent});
    return static_cast<int>(graph.indices.size()) - 1;
  }

  StreamId root() { return add(NodeKind::root, {}, {{StreamKind::ref, {}}})[0]; }
  /// Tensor -1: a counter. Gives coordinates and references.
  std::pair<StreamId, StreamId> scan(TensorId t, int level, StreamId ref, int index) {
    std::vector<int> loops = indices(ref);
    loops.push_back(index);
    const auto out =
        add(NodeKind::scan, {ref}, {{StreamKind::crd, loops}, {StreamKind::ref, loops}});
    last().tensor = t;
    last().level = level;
    return {out[0], out[1]};
  }
  StreamId locate(TensorId t, int level, StreamId ref, std::vector<StreamId> crds) {
    crds.insert(crds.begin(), ref);
    const auto out = add(NodeKind::locate, crds, {{StreamKind::ref, indices(ref)}});
    last().tensor = t;
    last().level = level;
    return out[0];
  }
  /// Coordinates, and the references to either level.
  std::vector<StreamId> gallop(std::pair<TensorId, int> first, std::pair<TensorId, int> second,
                               StreamId first_ref, StreamId second_ref, int index) {
    std::vector<int> loops = indices(first_ref);
    loops.push_back(index);
    const auto out =
        add(NodeKind::gallop, {first_ref, second_ref},
            {{StreamKind::crd, loops}, {StreamKind::ref, loops}, {StreamKind::ref, loops}});
    last().tensor = first.first;
    last().level = first.second;
    last().other_tensor = second.first;
    last().other_level = second.second;
    return out;
  }
  StreamId repeat(StreamId x, StreamId signal) {
    return add(NodeKind::repeat, {x, signal}, {{kind(x), indices(signal)}})[0];
  }
  std::vector<StreamId> join(NodeKind node, std::vector<std::vector<StreamId>> groups,
                             float pad = 0) {
    std::vector<StreamId> inputs;
    std::vector<std::pair<StreamKind, std::vector<int>>> outputs = {
        {StreamKind::crd, indices(groups[0][0])}};
    std::vector<int> sizes;
    for (const auto& group : groups) {
      sizes.push_back(static_cast<int>(group.size()));
      for (size_t i = 0; i < group.size(); ++i) {
        inputs.push_back(group[i]);
        if (i > 0) outputs.emplace_back(kind(group[i]), indices(groups[0][0]));
      }
    }
    const auto out = add(node, inputs, outputs);
    last().groups = sizes;
    last().init = pad;
    return out;
  }
  StreamId array(TensorId t, StreamId ref) {
    const StreamId out = add(NodeKind::array, {ref}, {{StreamKind::val, indices(ref)}})[0];
    last().tensor = t;
    return out;
  }
  StreamId map(Op op, std::vector<StreamId> operands) {
    const StreamId out = add(NodeKind::map, operands, {{StreamKind::val, indices(operands[0])}})[0];
    last().op = op;
    return out;
  }
  StreamId pass(NodeKind node, StreamId x, StreamKind result, int64_t capacity = 0) {
    const StreamId out = add(node, {x}, {{result, indices(x)}})[0];
    last().capacity = capacity;
    return out;
  }
  StreamId reduce(StreamId parent, StreamId value, Reduction reduction = Reduction::sum,
                  float init = 0) {
    std::vector<int> loops = indices(value);
    loops.pop_back();
    const StreamId out = add(NodeKind::reduce, {parent, value}, {{StreamKind::val, loops}})[0];
    last().reduction = reduction;
    last().init = init;
    return out;
  }
  /// Inputs: parent, crd of the reduced loop, the coordinates kept, the value.
  std::vector<StreamId> accumulate(int order, const std::vector<StreamId>& inputs) {
    std::vector<int> loops = indices(inputs[0]);
    std::vector<std::pair<StreamKind, std::vector<int>>> outputs;
    const std::vector<int> inner = indices(inputs.back());
    for (size_t j = inner.size() - static_cast<size_t>(order); j < inner.size(); ++j) {
      loops.push_back(inner[j]);
      outputs.emplace_back(StreamKind::crd, loops);
    }
    outputs.emplace_back(StreamKind::val, loops);
    const auto out = add(NodeKind::accumulate, inputs, outputs);
    last().order = order;
    return out;
  }
  /// A stream for each of `copies`.
  std::vector<StreamId> parallelize(StreamId x, size_t copies) {
    return add(NodeKind::parallelize, {x},
               std::vector<std::pair<StreamKind, std::vector<int>>>(copies, {kind(x), indices(x)}));
  }
  StreamId serialize(const std::vector<StreamId>& copies) {
    return add(NodeKind::serialize, copies, {{kind(copies[0]), indices(copies[0])}})[0];
  }
  StreamId align(StreamId to, StreamId from, StreamId x) {
    return add(NodeKind::align, {to, from, x}, {{kind(x), indices(x)}})[0];
  }
  std::vector<StreamId> drop(const std::vector<StreamId>& outer,
                             const std::vector<StreamId>& inner) {
    std::vector<StreamId> inputs = outer;
    inputs.insert(inputs.end(), inner.begin(), inner.end());
    std::vector<std::pair<StreamKind, std::vector<int>>> outputs;
    for (const StreamId s : inputs) outputs.emplace_back(kind(s), indices(s));
    const auto out = add(NodeKind::drop, inputs, outputs);
    last().groups = {static_cast<int>(outer.size()), static_cast<int>(inner.size())};
    return out;
  }
  /// Gives the others.
  std::vector<StreamId> filter(StreamId value, std::vector<StreamId> others, float dropped = 0) {
    std::vector<std::pair<StreamKind, std::vector<int>>> outputs;
    for (const StreamId s : others) outputs.emplace_back(kind(s), indices(s));
    others.insert(others.begin(), value);
    const auto out = add(NodeKind::filter, others, outputs);
    last().init = dropped;
    return out;
  }
  void write_level(TensorId t, int level, const std::vector<StreamId>& inputs) {
    add(NodeKind::write_level, inputs, {});
    last().tensor = t;
    last().level = level;
  }
  void write_values(TensorId t, const std::vector<StreamId>& inputs) {
    add(NodeKind::write_values, inputs, {});
    last().tensor = t;
  }

  Node& last() { return graph.nodes.back(); }
  NodeId last_node() const { return static_cast<NodeId>(graph.nodes.size()) - 1; }
  void name(StreamId stream, const std::string& text) {
    graph.streams[static_cast<size_t>(stream)].name = text;
  }

  RunResult run(const Machine& machine = {}, Executor executor = Executor::naive) const {
    RunOptions options;
    options.full_streams = true;
    options.executor = executor;
    options.record_streams = true;
    return run_graph(program, graph, data, machine, options);
  }

 private:
  TensorId tensor(const std::string& name, const std::vector<int64_t>& shape,
                  const std::string& format, float fill) {
    Tensor t;
    t.name = name;
    for (const int64_t extent : shape) t.shape.push_back({extent, ""});
    t.format = parse_format(format);
    t.fill = fill;
    program.tensors.push_back(t);
    return static_cast<TensorId>(program.tensors.size()) - 1;
  }
  const std::vector<int>& indices(StreamId s) const {
    return graph.streams[static_cast<size_t>(s)].indices;
  }
  StreamKind kind(StreamId s) const { return graph.streams[static_cast<size_t>(s)].kind; }
  std::vector<StreamId> add(NodeKind node, const std::vector<StreamId>& inputs,
                            const std::vector<std::pair<StreamKind, std::vector<int>>>& outputs) {
    Node n;
    n.kind = node;
    for (const StreamId s : inputs) n.inputs.push_back({s, 0});
    for (const auto& [stream_kind, loops] : outputs) {
      const auto id = static_cast<StreamId>(graph.streams.size());
      graph.streams.push_back({fmt::format("s{}", id), stream_kind, loops,
                               static_cast<NodeId>(graph.nodes.size()),
                               static_cast<int>(n.outputs.size())});
      n.outputs.push_back(id);
    }
    graph.nodes.push_back(n);
    return n.outputs;
  }
};

/// The worked case of timing.md, "Galloping": two lists of coordinates, below the root.
struct GallopExample {
  GraphBuilder b;
  TensorId first = b.input("a", {40}, "compressed", values({1, 9, 10, 30}, 2));
  TensorId second = b.input("b", {40}, "compressed", values({2, 3, 4, 5, 6, 7, 8, 9, 30}, 3));
  TensorId y = b.output("y", {}, "scalar");
  StreamId root = b.root();
  std::vector<StreamId> met = b.gallop({first, 0}, {second, 0}, root, root, b.index("i", 40));

 private:
  static std::vector<float> values(const std::vector<size_t>& places, float value) {
    std::vector<float> all(40, 0);
    for (const size_t at : places) all[at] = value;
    return all;
  }
};

/// "0@1 2@2 S0@3 D@4"; a stop that closes no real element's fiber is "S1-"; values are numbers.
inline std::string show(const Graph& graph, const RunResult& result, StreamId stream,
                        bool times = true) {
  const auto s = static_cast<size_t>(stream);
  std::string text;
  for (const TokenRecord& token : result.recorded[s]) {
    if (!text.empty()) text += ' ';
    if (token.stop == TokenRecord::kDone) {
      text += "D";
    } else if (token.stop >= 0) {
      text += fmt::format("S{}{}", static_cast<int>(token.stop), token.closes ? "" : "-");
    } else if (graph.streams[s].kind == StreamKind::val) {
      float value = 0;
      __builtin_memcpy(&value, &token.payload, sizeof(value));
      text += fmt::format("{:g}", value);
    } else if (token.payload == kAbsent) {
      text += "N";
    } else {
      text += fmt::format("{}", token.payload);
    }
    if (times) text += fmt::format("@{}", token.time);
  }
  return text;
}

}  // namespace fuseflow::testing
