// Contractions: MatMul and Gemm as one statement each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/registry.h"

namespace fuseflow {

namespace {

// Labels of MatMul: batch dimensions 0.., then these.
constexpr int kRow = 1000;
constexpr int kInner = 1001;
constexpr int kColumn = 1002;

/// Labels of one operand; its batch dimensions are aligned to the right of `batch`.
std::vector<int> matmul_labels(int rank, int batch, bool left) {
  if (rank == 1) return {kInner};
  std::vector<int> labels;
  for (int d = 0; d < rank - 2; ++d) labels.push_back(batch - (rank - 2) + d);
  labels.push_back(left ? kRow : kInner);
  labels.push_back(left ? kInner : kColumn);
  return labels;
}

void matmul(NodeImport& node) {
  const View& a = node.input(0);
  const View& b = node.input(1);
  if (a.rank() == 0 || b.rank() == 0) node.reject("expected operands of rank 1 or more");
  const int64_t inner_a = a.extent(a.rank() - 1);
  const int64_t inner_b = b.extent(b.rank() == 1 ? 0 : b.rank() - 2);
  if (inner_a != inner_b) {
    node.reject(fmt::format("shapes [{}] and [{}] do not multiply: inner extents {} and {} differ",
                            fmt::join(a.shape(), ","), fmt::join(b.shape(), ","), inner_a,
                            inner_b));
  }
  const int batch = std::max({a.rank() - 2, b.rank() - 2, 0});
  Kernel k = node.kernel();
  const int x = k.operand(a, matmul_labels(a.rank(), batch, true));
  const int y = k.operand(b, matmul_labels(b.rank(), batch, false));
  const int32_t left = k.use(x);
  const int32_t right = k.use(y);
  const int32_t sum = k.reduce(Reduction::sum, {kInner}, k.apply(Op::mul, {left, right}));
  std::vector<int> labels;
  for (int d = 0; d < batch; ++d) labels.push_back(d);
  if (a.rank() > 1) labels.push_back(kRow);
  if (b.rank() > 1) labels.push_back(kColumn);
  node.define(0, k.result(labels, sum, a.type));
}

void gemm(NodeImport& node) {
  View a = node.input(0);
  View b = node.input(1);
  if (a.rank() != 2 || b.rank() != 2) node.reject("expected matrices");
  if (node.integer("transA", 0) != 0) transpose(a, {1, 0});
  if (node.integer("transB", 0) != 0) transpose(b, {1, 0});
  if (a.extent(1) != b.extent(0)) {
    node.reject(fmt::format("inner extents {} and {} differ", a.extent(1), b.extent(0)));
  }
  Kernel k = node.kernel();
  const int x = k.operand(a, {kRow, kInner});
  const int y = k.operand(b, {kInner, kColumn});
  int bias = -1;
  if (node.has_input(2)) {
    View c = node.input(2);
    broadcast_shape({c.shape(), {a.extent(0), b.extent(1)}}, "Gemm: C");
    if (c.rank() > 2) node.reject("C has more than 2 dimensions");
    expand(c, std::vector<int64_t>(2, 1));
    bias = k.operand(c, {kRow, kColumn});
  }
  const int32_t left = k.use(x);
  const int32_t right = k.use(y);
  int32_t root = k.reduce(Reduction::sum, {kInner}, k.apply(Op::mul, {left, right}));
  const float alpha = node.real("alpha", 1);
  const float beta = node.real("beta", 1);
  if (alpha != 1) {
    const int32_t factor = k.constant(alpha);
    root = k.apply(Op::mul, {factor, root});
  }
  if (bias >= 0) {
    int32_t added = k.use(bias);
    if (beta != 1) {
      const int32_t factor = k.constant(beta);
      added = k.apply(Op::mul, {factor, added});
    }
    root = k.apply(Op::add, {root, added});
  }
  node.define(0, k.result({kRow, kColumn}, root, a.type));
}

constexpr OperatorRow kRows[] = {
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

std::span<const OperatorRow> contraction_operators() {
  return kRows;
}

}  // namespace fuseflow
