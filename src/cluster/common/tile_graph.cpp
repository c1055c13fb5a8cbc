#include "cluster/common/tile_graph.h"

#include <algorithm>
#include <utility>

#include "support/ceil_div.h"
#include "support/text.h"

namespace fuseflow::cluster {

GraphIndex& TileGraphBuilder::dimension(const std::string& name, const std::vector<int>& loops,
                                        int64_t block, int cluster) {
  GraphIndex index;
  index.name = name;
  index.size = 1;
  index.block = block;
  index.tiling.cluster = cluster;
  for (const int loop : loops) {
    const TileDigit& digit = loops_[static_cast<size_t>(loop)];
    number_[static_cast<size_t>(loop)] = digits_++;
    index.size *= digit.extent;
    index.tiling.digits.push_back(digit);
  }
  if (loops.empty()) {
    const auto taken = [&](const std::string& other) {
      return std::any_of(loops_.begin(), loops_.end(),
                         [&](const TileDigit& loop) { return loop.name == other; });
    };
    index.tiling.digits.push_back({unused_name("one_" + name, "_", 1, taken), 1});
    ++digits_;
  }
  index.extent = ceil_div(index.size, block * cluster) * cluster;
  graph_.indices.push_back(std::move(index));
  return graph_.indices.back();
}

Node TileGraphBuilder::node(NodeKind kind, std::vector<Input> inputs) {
  Node made;
  made.kind = kind;
  made.inputs = std::move(inputs);
  return made;
}

Input TileGraphBuilder::add(Node node, const TileDims& dims, std::string name) {
  graph_.nodes.push_back(std::move(node));
  return add_output(dims, std::move(name));
}

Input TileGraphBuilder::add_output(const TileDims& dims, std::string name) {
  Node& node = graph_.nodes.back();
  Stream stream;
  stream.name = std::move(name);
  stream.indices = stream.block = dims;
  stream.producer = static_cast<NodeId>(graph_.nodes.size()) - 1;
  stream.port = static_cast<int>(node.outputs.size());
  const auto id = static_cast<StreamId>(graph_.streams.size());
  node.outputs.push_back(id);
  graph_.streams.push_back(std::move(stream));
  return {id, 0};
}

Input TileGraphBuilder::load(TensorId tensor, const std::vector<TileSubscript>& at,
                             const TileDims& dims, int64_t copies, std::string name) {
  Node load = node(NodeKind::tile_load, {});
  load.tensor = tensor;
  load.tile.subscripts = numbered(at);
  load.capacity = copies;
  return add(std::move(load), dims, std::move(name));
}

Input TileGraphBuilder::map(Op op, std::vector<Input> inputs, const TileDims& dims,
                            std::string name) {
  Node map = node(NodeKind::map, std::move(inputs));
  map.op = op;
  return add(std::move(map), dims, std::move(name));
}

void TileGraphBuilder::store(TensorId tensor, const std::vector<TileSubscript>& at, Input from) {
  Node store = node(NodeKind::tile_store, {from});
  store.tensor = tensor;
  store.tile.subscripts = numbered(at);
  graph_.nodes.push_back(std::move(store));
}

std::vector<TileSubscript> TileGraphBuilder::numbered(std::vector<TileSubscript> subscripts) const {
  for (TileSubscript& subscript : subscripts) {
    for (auto& [loop, factor] : subscript.terms) loop = number_[static_cast<size_t>(loop)];
  }
  return subscripts;
}

}  // namespace fuseflow::cluster
