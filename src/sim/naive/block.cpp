#include "sim/naive/block.h"

#include <algorithm>
#include <bit>

#include "ops/op.h"

namespace fuseflow::naive {

BlockShape block_shape(const Graph& graph, const std::vector<int>& loops) {
  BlockShape shape;
  shape.loops = loops;
  for (const int loop : loops) {
    shape.extents.push_back(graph.indices[static_cast<size_t>(loop)].block);
    shape.volume *= shape.extents.back();
  }
  return shape;
}

BlockShape block_shape(const Graph& graph, StreamId stream) {
  return block_shape(graph, graph.streams[static_cast<size_t>(stream)].block);
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
  std::vector<const float*> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    values.push_back(operands[i] == nullptr ? &node_.inputs[i].immediate
                                            : block_values(*operands[i]));
  }
  std::vector<float> out(static_cast<size_t>(out_.volume), 0.0F);
  if (inner_.scalar()) {
    elementwise(values, out.data());
  } else {
    product(values, out.data());
  }
  return block_token(out_, std::move(out));
}

/// Rows along the last loop at a time; rows that are not contiguous are gathered.
void BlockMap::elementwise(const std::vector<const float*>& operands, float* out) const {
  const size_t rank = out_.extents.size();
  const int64_t n = rank == 0 ? 1 : out_.extents.back();
  const std::vector<int64_t> outer(out_.extents.begin(), out_.extents.end() - (rank == 0 ? 0 : 1));
  const size_t count = operands.size();
  std::vector<std::vector<int64_t>> offsets(count);
  for (size_t i = 0; i < count; ++i) {
    for_each_offset(outer, out_strides_[i], [&](int64_t offset) { offsets[i].push_back(offset); });
  }
  std::vector<std::vector<float>> gathered(count, std::vector<float>(static_cast<size_t>(n)));
  for (size_t row = 0; row < offsets[0].size(); ++row) {
    std::vector<const float*> rows(count);
    std::vector<int> strides(count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t stride = rank == 0 ? 0 : out_strides_[i].back();
      rows[i] = operands[i] + offsets[i][row];
      strides[i] = stride == 0 ? 0 : 1;
      if (stride <= 1) continue;
      for (int64_t k = 0; k < n; ++k) {
        gathered[i][static_cast<size_t>(k)] = operands[i][offsets[i][row] + k * stride];
      }
      rows[i] = gathered[i].data();
    }
    evaluate_many(node_.op, rows, strides, out + static_cast<int64_t>(row) * n, n);
  }
}

/// out[.., j] += a[.., k, ..] * b[.., k, .., j], k ascending.
void BlockMap::product(const std::vector<const float*>& operands, float* out) const {
  const size_t rank = out_.extents.size();
  const int64_t n = rank == 0 ? 1 : out_.extents.back();
  const std::vector<int64_t> outer(out_.extents.begin(), out_.extents.end() - (rank == 0 ? 0 : 1));
  std::vector<std::vector<int64_t>> rows(2);
  std::vector<std::vector<int64_t>> sums(2);
  for (size_t i = 0; i < 2; ++i) {
    for_each_offset(outer, out_strides_[i], [&](int64_t o) { rows[i].push_back(o); });
    for_each_offset(inner_.extents, inner_strides_[i], [&](int64_t o) { sums[i].push_back(o); });
  }
  const int64_t step_a = rank == 0 ? 0 : out_strides_[0].back();
  const int64_t step_b = rank == 0 ? 0 : out_strides_[1].back();
  for (size_t row = 0; row < rows[0].size(); ++row) {
    float* to = out + static_cast<int64_t>(row) * n;
    for (size_t k = 0; k < sums[0].size(); ++k) {
      const float* a = operands[0] + rows[0][row] + sums[0][k];
      const float* b = operands[1] + rows[1][row] + sums[1][k];
      for (int64_t j = 0; j < n; ++j) to[j] += a[j * step_a] * b[j * step_b];
    }
  }
}

BlockReduce::BlockReduce(const Graph& graph, const Node& node)
    : reduction_(node.reduction),
      in_(block_shape(graph, node.inputs.back().stream)),
      out_(block_shape(graph, node.outputs.back())),
      strides_(strides_over(out_, in_.loops)) {}

void BlockReduce::add(std::vector<float>& sums, const Token& token) const {
  const float* values = block_values(token);
  for_each_offset(in_.extents, strides_, [&](int64_t offset) {
    float& sum = sums[static_cast<size_t>(offset)];
    sum = combine(reduction_, sum, *values++);
  });
}

}  // namespace fuseflow::naive
