#include "sim/naive/block.h"

#include <algorithm>
#include <bit>

#include "ops/op.h"

namespace fuseflow::naive {

BlockShape block_shape(const Graph& graph, const std::vector<int>& loops) {
  BlockShape shape;
  shape.loops = loops;
  for (const int loop : loops) {
    shape.extents.push_back(graph.indices[loop].block);
    shape.volume *= shape.extents.back();
  }
  return shape;
}

BlockShape block_shape(const Graph& graph, StreamId stream) {
  return block_shape(graph, graph.streams[stream].block);
}

const float* block_values(const Token& token) {
  if (token.block) return token.block->data();
  return reinterpret_cast<const float*>(&token.payload);
}

Token block_token(const BlockShape& shape, std::vector<float> values) {
  Token token;
  token.payload = std::bit_cast<uint32_t>(values.front());
  if (!shape.scalar()) token.block = std::make_shared<const std::vector<float>>(std::move(values));
  return token;
}

Token constant_token(const BlockShape& shape, float value) {
  return block_token(shape, std::vector<float>(static_cast<size_t>(shape.volume), value));
}

std::vector<int64_t> strides_over(const BlockShape& block, const std::vector<int>& loops) {
  std::vector<int64_t> strides;
  for (const int loop : loops) {
    int64_t stride = 1;
    int64_t found = 0;
    for (size_t d = block.loops.size(); d-- > 0;) {
      if (block.loops[d] == loop) found = stride;
      stride *= block.extents[d];
    }
    strides.push_back(found);
  }
  return strides;
}

BlockMap::BlockMap(const Graph& graph, const Node& node)
    : node_(node),
      out_(block_shape(graph, node.outputs[0])),
      inner_(block_shape(graph, node.contract)) {
  for (const Input& input : node.inputs) {
    const BlockShape shape = input.is_immediate() ? BlockShape{} : block_shape(graph, input.stream);
    out_strides_.push_back(strides_over(shape, out_.loops));
    inner_strides_.push_back(strides_over(shape, inner_.loops));
  }
}

int64_t BlockMap::flops() const {
  const int64_t each = op_info(node_.op).flops * out_.volume * inner_.volume;
  return each + out_.volume * (inner_.volume - 1);
}

Token BlockMap::evaluate(const std::vector<const Token*>& operands) const {
  const size_t count = operands.size();
  std::vector<const float*> values;
  std::vector<std::vector<int64_t>> places(count);    // by operand: of each element of the result
  std::vector<std::vector<int64_t>> summands(count);  // ... and from there of each that is summed
  for (size_t i = 0; i < count; ++i) {
    values.push_back(operands[i] == nullptr ? &node_.inputs[i].immediate
                                            : block_values(*operands[i]));
    for_each_offset(out_.extents, out_strides_[i], [&](int64_t o) { places[i].push_back(o); });
    for_each_offset(inner_.extents, inner_strides_[i],
                    [&](int64_t o) { summands[i].push_back(o); });
  }
  std::vector<float> out(static_cast<size_t>(out_.volume), 0.0F);
  std::vector<float> element(count);
  for (size_t e = 0; e < out.size(); ++e) {
    for (size_t k = 0; k < summands[0].size(); ++k) {
      for (size_t i = 0; i < count; ++i) element[i] = values[i][places[i][e] + summands[i][k]];
      const float value = fuseflow::evaluate(node_.op, element);
      out[e] = inner_.scalar() ? value : out[e] + value;
    }
  }
  return block_token(out_, std::move(out));
}

BlockReduce::BlockReduce(const Graph& graph, const Node& node)
    : reduction_(node.reduction),
      in_(block_shape(graph, node.inputs.back().stream)),
      out_(block_shape(graph, node.outputs.back())),
      strides_(strides_over(out_, in_.loops)) {}

void BlockReduce::add(std::vector<float>& sums, const Token& token) const {
  const float* values = block_values(token);
  for_each_offset(in_.extents, strides_, [&](int64_t offset) {
    float& sum = sums[offset];
    sum = combine(reduction_, sum, *values++);
  });
}

}  // namespace fuseflow::naive
