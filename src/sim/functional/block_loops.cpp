#include "sim/functional/block_loops.h"

#include <algorithm>
#include <array>

#include "support/avx2.h"

namespace fuseflow::engine {

namespace {

/// Offsets in `operand` of all positions of a block of these loops, row-major.
std::vector<int64_t> offsets_in(const BlockExtents& operand, std::span<const int> loops,
                                std::span<const int64_t> extents) {
  std::vector<int64_t> offsets{0};
  for (size_t d = 0; d < loops.size(); ++d) {
    int64_t stride = 0;
    int64_t inner = 1;
    for (size_t o = operand.loops.size(); o-- > 0; inner *= operand.extents[o]) {
      if (operand.loops[o] == loops[d]) stride = inner;
    }
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(extents[d]));
    for (const int64_t offset : offsets) {
      for (int64_t k = 0; k < extents[d]; ++k) next.push_back(offset + k * stride);
    }
    offsets = std::move(next);
  }
  return offsets;
}

constexpr int kWide = 16;  // columns of a tile

/// kRows rows of `width` <= kWide columns: out[r][c] = sum over k, ascending, of x[r][xs[k]] *
/// y[k][c].
template <int kRows>
[[gnu::always_inline]] inline void tile(const float* x, const int64_t* rows, const int64_t* xs,
                                        const float* y, int64_t y_step, int64_t depth, float* out,
                                        int64_t out_step) {
  float sums[kRows][kWide] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = y + k * y_step;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = x[rows[r] + xs[k]];
#pragma GCC unroll 16
      for (int c = 0; c < kWide; ++c) sums[r][c] += factor * from[c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kWide; ++c) out[r * out_step + c] = sums[r][c];
  }
}

[[gnu::always_inline]] inline void narrow(const float* x, const int64_t* xs, const float* y,
                                          int64_t y_step, int64_t depth, float* out, int64_t n) {
  for (int64_t c = 0; c < n; ++c) out[c] = 0.0F;
  for (int64_t k = 0; k < depth; ++k) {
    const float factor = x[xs[k]];
    const float* from = y + k * y_step;
    for (int64_t c = 0; c < n; ++c) out[c] += factor * from[c];
  }
}

struct Panel {
  const float* x;
  const int64_t* rows;  // offsets of the rows in x
  int64_t row_count;
  const int64_t* xs;  // offsets of the contracted elements in x
  const float* y;     // depth rows of n columns, y_step apart
  int64_t y_step;
  int64_t depth;
  int64_t n;
  float* out;
};

[[gnu::always_inline]] inline void run_panel(const Panel& p) {
  int64_t c = 0;
  for (; c + kWide <= p.n; c += kWide) {
    int64_t r = 0;
    for (; r + 4 <= p.row_count; r += 4) {
      tile<4>(p.x, p.rows + r, p.xs, p.y + c, p.y_step, p.depth, p.out + r * p.n + c, p.n);
    }
    for (; r < p.row_count; ++r) {
      tile<1>(p.x, p.rows + r, p.xs, p.y + c, p.y_step, p.depth, p.out + r * p.n + c, p.n);
    }
  }
  for (int64_t r = 0; c < p.n && r < p.row_count; ++r) {
    narrow(p.x + p.rows[r], p.xs, p.y + c, p.y_step, p.depth, p.out + r * p.n + c, p.n - c);
  }
}

template <typename Combine>
void fold_rows(float* sums, const float* values, const BlockRows& rows, int64_t n,
               Combine combine) {
  const size_t count = rows.offsets.size();
  if (rows.whole) {
    const int64_t all = n * static_cast<int64_t>(count);
    for (int64_t k = 0; k < all; ++k) sums[k] = combine(sums[k], values[k]);
    return;
  }
  if (rows.step != 0) {
    for (size_t r = 0; r < count; ++r, values += n) {
      float* to = sums + rows.offsets[r];
      for (int64_t k = 0; k < n; ++k) to[k * rows.step] = combine(to[k * rows.step], values[k]);
    }
    return;
  }
  // Rows that end in one number: several at a time, each in its own order.
  constexpr size_t kTogether = 8;
  for (size_t r = 0; r < count;) {
    size_t many = 1;
    while (many < kTogether && r + many < count &&
           rows.offsets[r + many] > rows.offsets[r + many - 1]) {
      ++many;
    }
    if (many == kTogether) {
      float running[kTogether];
      for (size_t i = 0; i < kTogether; ++i) running[i] = sums[rows.offsets[r + i]];
      for (int64_t k = 0; k < n; ++k) {
        for (size_t i = 0; i < kTogether; ++i) {
          running[i] = combine(running[i], values[static_cast<int64_t>(i) * n + k]);
        }
      }
      for (size_t i = 0; i < kTogether; ++i) sums[rows.offsets[r + i]] = running[i];
    } else {
      for (size_t i = 0; i < many; ++i) {
        float& sum = sums[rows.offsets[r + i]];
        for (int64_t k = 0; k < n; ++k) sum = combine(sum, values[static_cast<int64_t>(i) * n + k]);
      }
    }
    r += many;
    values += static_cast<int64_t>(many) * n;
  }
}

}  // namespace

BlockExtents::BlockExtents(const Graph& graph, const std::vector<int>& over) : loops(over) {
  for (const int loop : loops) {
    extents.push_back(graph.indices[static_cast<size_t>(loop)].block);
    volume *= extents.back();
  }
}

BlockRows::BlockRows(const BlockExtents& rows, const BlockExtents& operand) {
  const size_t rank = rows.loops.size();
  const size_t outer = rank == 0 ? 0 : rank - 1;
  offsets =
      offsets_in(operand, std::span(rows.loops).first(outer), std::span(rows.extents).first(outer));
  if (rank > 0) {
    const auto last = offsets_in(operand, std::span(rows.loops).last(1),
                                 std::span<const int64_t>(std::array<int64_t, 1>{2}));
    step = last[1];
  }
  whole = operand.loops == rows.loops;
}

BlockOperator::BlockOperator(const Graph& graph, const Node& node)
    : op_(node.op),
      out_(graph, graph.streams[static_cast<size_t>(node.outputs[0])].block),
      inner_(graph, node.contract) {
  simple_ = true;
  for (const Input& input : node.inputs) {
    shapes_.push_back(
        input.is_immediate()
            ? BlockExtents{}
            : BlockExtents(graph, graph.streams[static_cast<size_t>(input.stream)].block));
    rows_.emplace_back(out_, shapes_.back());
    inners_.push_back(offsets_in(shapes_.back(), inner_.loops, inner_.extents));
    simple_ = simple_ && (rows_.back().whole || shapes_.back().loops.empty());
  }
}

int64_t BlockOperator::flops() const {
  const int64_t each = op_info(op_).flops * out_.volume * inner_.volume;
  return each + out_.volume * (inner_.volume - 1);
}

void BlockOperator::run(std::span<const float* const> operands, float* out) {
  inner_.loops.empty() ? elementwise(operands, out) : product(operands, out);
}

void BlockOperator::elementwise(std::span<const float* const> operands, float* out) {
  const size_t count = operands.size();
  std::array<const float*, 3> from{};
  std::array<int, 3> strides{};
  if (simple_) {
    for (size_t i = 0; i < count; ++i) strides[i] = rows_[i].whole && !out_.loops.empty() ? 1 : 0;
    return evaluate_many(op_, operands, {strides.data(), count}, out, out_.volume);
  }
  const int64_t n = out_.extents.back();
  gathered_.resize(count * static_cast<size_t>(n));
  for (size_t row = 0; row < rows_[0].offsets.size(); ++row) {
    for (size_t i = 0; i < count; ++i) {
      from[i] = operands[i] + rows_[i].offsets[row];
      strides[i] = rows_[i].step == 0 ? 0 : 1;
      if (rows_[i].step <= 1) continue;
      float* to = gathered_.data() + i * static_cast<size_t>(n);
      for (int64_t k = 0; k < n; ++k) to[k] = from[i][k * rows_[i].step];
      from[i] = to;
    }
    evaluate_many(op_, {from.data(), count}, {strides.data(), count},
                  out + static_cast<int64_t>(row) * n, n);
  }
}

/// Rows that share their y are a small matrix product; y is packed if its columns are apart.
void BlockOperator::product(std::span<const float* const> operands, float* out) {
  if (rows_[0].step != 0 && rows_[1].step != 0) return product_any(operands[0], operands[1], out);
  const size_t shared = rows_[1].step != 0 ? 1 : 0;  // the operand that has the last loop
  const float* x = operands[1 - shared];
  const float* y = operands[shared];
  const std::vector<int64_t>& of_y = rows_[shared].offsets;
  for (size_t first = 0; first < of_y.size();) {
    size_t last = first + 1;
    while (last < of_y.size() && of_y[last] == of_y[first]) ++last;
    product_rows(x, y + of_y[first], shared, first, last, out);
    first = last;
  }
}

void BlockOperator::product_rows(const float* x, const float* y, size_t shared, size_t first,
                                 size_t last, float* out) {
  const int64_t n = out_.loops.empty() ? 1 : out_.extents.back();
  const std::vector<int64_t>& ys = inners_[shared];
  const auto depth = static_cast<int64_t>(ys.size());
  const int64_t y_step = depth > 1 ? ys[1] - ys[0] : n;
  bool even = rows_[shared].step == 1 && y_step >= n;
  for (size_t k = 1; even && k < ys.size(); ++k) even = ys[k] - ys[k - 1] == y_step;
  Panel panel{x,
              rows_[1 - shared].offsets.data() + first,
              static_cast<int64_t>(last - first),
              inners_[1 - shared].data(),
              y + ys[0],
              y_step,
              depth,
              n,
              out + static_cast<int64_t>(first) * n};
  if (!even) {
    packed_.resize(static_cast<size_t>(depth * n));
    const int64_t step = rows_[shared].step;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t c = 0; c < n; ++c) {
        packed_[static_cast<size_t>(k * n + c)] = y[ys[static_cast<size_t>(k)] + c * step];
      }
    }
    panel.y = packed_.data();
    panel.y_step = n;
  }
  run_widest([&panel]() FUSEFLOW_LOOP { run_panel(panel); });
}

void BlockOperator::product_any(const float* a, const float* b, float* out) const {
  const int64_t n = out_.loops.empty() ? 1 : out_.extents.back();
  for (size_t row = 0; row < rows_[0].offsets.size(); ++row) {
    for (int64_t c = 0; c < n; ++c) {
      const float* from_a = a + rows_[0].offsets[row] + c * rows_[0].step;
      const float* from_b = b + rows_[1].offsets[row] + c * rows_[1].step;
      float sum = 0.0F;
      for (size_t k = 0; k < inners_[0].size(); ++k) {
        sum += from_a[inners_[0][k]] * from_b[inners_[1][k]];
      }
      out[static_cast<int64_t>(row) * n + c] = sum;
    }
  }
}

BlockFold::BlockFold(const Graph& graph, const Node& node)
    : reduction_(node.reduction),
      in_(graph, graph.streams[static_cast<size_t>(node.inputs.back().stream)].block),
      out_(graph, node.outputs.back() < 0
                      ? std::vector<int>{}
                      : graph.streams[static_cast<size_t>(node.outputs.back())].block),
      rows_(in_, out_) {}

void BlockFold::add(float* sums, const float* values) const {
  const int64_t n = in_.loops.empty() ? 1 : in_.extents.back();
  if (reduction_ == Reduction::sum || reduction_ == Reduction::mean) {
    return fold_rows(sums, values, rows_, n, [](float a, float b) { return a + b; });
  }
  fold_rows(sums, values, rows_, n, [&](float a, float b) { return combine(reduction_, a, b); });
}

BlockPad::BlockPad(const Graph& graph, const Node& node)
    : init_(node.init),
      in_(graph, graph.streams[static_cast<size_t>(node.inputs[0].stream)].block),
      out_(graph, graph.streams[static_cast<size_t>(node.outputs[0])].block),
      rows_(out_, in_) {}

void BlockPad::run(const float* in, std::span<const int64_t> valid, float* out) const {
  const int64_t n = out_.extents.empty() ? 1 : out_.extents.back();
  const int64_t inside = valid.empty() ? 1 : valid.back();
  for (size_t row = 0; row < rows_.offsets.size(); ++row, out += n) {
    bool row_inside = true;
    auto rest = static_cast<int64_t>(row);
    for (size_t d = out_.extents.size(); d-- > 0;) {
      if (d + 1 == out_.extents.size()) continue;
      row_inside = row_inside && rest % out_.extents[d] < valid[d];
      rest /= out_.extents[d];
    }
    const float* from = in + rows_.offsets[row];
    const int64_t kept = row_inside ? inside : 0;
    for (int64_t k = 0; k < kept; ++k) out[k] = from[k * rows_.step];
    std::fill(out + kept, out + n, init_);
  }
}

}  // namespace fuseflow::engine
