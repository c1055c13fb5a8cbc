#include "sim/tiles/addressing.h"

#include <algorithm>

namespace fuseflow {
namespace {

/// Sum of coefficient * digit over the digits of dimension `dim`, for each of its elements; a dense
/// tensor dimension after the other.
std::vector<int64_t> parts_of(const Graph& graph, const Node& node, int dim) {
  const size_t rank = node.subscripts.size();
  int first = 0;
  for (int d = 0; d < dim; ++d) {
    first += static_cast<int>(graph.indices[static_cast<size_t>(d)].digits.size());
  }
  const GraphIndex& index = graph.indices[static_cast<size_t>(dim)];
  const auto digits = static_cast<int>(index.digits.size());
  std::vector<int64_t> weight(static_cast<size_t>(digits) * rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    for (const auto& [digit, coefficient] : node.subscripts[d].terms) {
      const int at = digit - first;
      if (at >= 0 && at < digits) weight[static_cast<size_t>(at) * rank + d] += coefficient;
    }
  }
  std::vector<int64_t> parts(static_cast<size_t>(index.size) * rank, 0);
  for (int64_t i = 0; i < index.size; ++i) {
    int64_t rest = i;
    for (int at = digits - 1; at >= 0; --at) {
      const int64_t extent = index.digits[static_cast<size_t>(at)].extent;
      for (size_t d = 0; d < rank; ++d) {
        parts[static_cast<size_t>(i) * rank + d] +=
            weight[static_cast<size_t>(at) * rank + d] * (rest % extent);
      }
      rest /= extent;
    }
  }
  return parts;
}

}  // namespace

TileAddressing::TileAddressing(const Graph& graph, const Node& node, const std::vector<int>& dims,
                               const std::vector<int64_t>& shape, const Format& format)
    : shape_(shape), stride_(shape.size(), 1) {
  const size_t rank = shape.size();
  int64_t stride = 1;
  for (size_t l = rank; l-- > 0;) {
    const auto d = static_cast<size_t>(format.mode_order[l]);
    stride_[d] = stride;
    stride *= shape[d];
  }
  cols_ = graph.indices[static_cast<size_t>(dims.back())].size;
  col_part_ = parts_of(graph, node, dims.back());
  if (dims.size() > 1) {
    rows_ = graph.indices[static_cast<size_t>(dims.front())].size;
    row_part_ = parts_of(graph, node, dims.front());
  } else {
    row_part_.assign(rank, 0);
  }
  for (size_t d = 0; d < rank; ++d) {  // the constant part goes with the rows
    for (int64_t r = 0; r < rows_; ++r) {
      row_part_[static_cast<size_t>(r) * rank + d] += node.subscripts[d].offset;
    }
  }
  const auto varies = [&](const std::vector<int64_t>& parts, int64_t count, size_t d) {
    for (int64_t i = 1; i < count; ++i) {
      if (parts[static_cast<size_t>(i) * rank + d] != parts[d]) return true;
    }
    return parts.empty() || parts[d] != 0;
  };
  std::vector<bool> by_col(rank, false);
  for (size_t d = 0; d < rank; ++d) {
    by_col[d] = varies(col_part_, cols_, d);
    coupled_ = coupled_ || (by_col[d] && varies(row_part_, rows_, d));
  }
  if (coupled_) return;
  const auto table = [&](const std::vector<int64_t>& parts, int64_t count, bool of_col) {
    std::vector<int64_t> position(static_cast<size_t>(count), 0);
    for (int64_t i = 0; i < count; ++i) {
      for (size_t d = 0; d < rank; ++d) {
        if (by_col[d] != of_col) continue;
        const int64_t at = parts[static_cast<size_t>(i) * rank + d];
        int64_t& sum = position[static_cast<size_t>(i)];
        if (sum >= 0) sum = at < 0 || at >= shape_[d] ? kOutsidePosition : sum + at * stride_[d];
      }
    }
    return position;
  };
  row_position_ = table(row_part_, rows_, false);
  col_position_ = table(col_part_, cols_, true);
}

int64_t TileAddressing::coupled_position(int64_t row, int64_t col) const {
  const size_t rank = shape_.size();
  int64_t position = 0;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t at = row_part_[static_cast<size_t>(row) * rank + d] +
                       col_part_[static_cast<size_t>(col) * rank + d];
    if (at < 0 || at >= shape_[d]) return kOutsidePosition;
    position += at * stride_[d];
  }
  return position;
}

}  // namespace fuseflow
