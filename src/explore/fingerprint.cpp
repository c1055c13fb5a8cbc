#include "explore/fingerprint.h"

#include <bit>

namespace fuseflow {

namespace {

class Hash {
 public:
  void add(int64_t value) {
    h_ ^= static_cast<uint64_t>(value);
    h_ *= 0xbf58476d1ce4e5b9ULL;
    h_ ^= h_ >> 31;
  }
  void add(float value) { add(static_cast<int64_t>(std::bit_cast<uint32_t>(value))); }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace

uint64_t fingerprint(const Graph& graph) {
  Hash h;
  for (const GraphIndex& index : graph.indices) h.add(index.extent);
  for (const Node& node : graph.nodes) {
    h.add(static_cast<int64_t>(node.kind));
    for (const Input& input : node.inputs) {
      h.add(int64_t{input.stream});
      if (input.is_immediate()) h.add(input.immediate);
    }
    for (const StreamId out : node.outputs) {
      h.add(int64_t{out});
      if (out < 0) continue;
      for (const int i : graph.streams[static_cast<size_t>(out)].indices) h.add(int64_t{i});
    }
    for (const int64_t field :
         {int64_t{node.tensor}, int64_t{node.level}, static_cast<int64_t>(node.op),
          static_cast<int64_t>(node.reduction), int64_t{node.order}, node.offset, node.stride,
          node.capacity, int64_t{node.phase}, int64_t{node.contiguous}}) {
      h.add(field);
    }
    h.add(node.init);
    for (const int group : node.groups) h.add(int64_t{group});
    for (const int64_t stride : node.strides) h.add(stride);
  }
  for (const TensorId tensor : graph.scratchpad) h.add(int64_t{tensor});
  return h.value();
}

}  // namespace fuseflow
