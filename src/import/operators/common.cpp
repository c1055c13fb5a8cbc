#include "import/operators/common.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace fuseflow {

std::vector<int> all_labels(int rank) {
  std::vector<int> labels(static_cast<size_t>(rank));
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

int32_t cut_towards_zero(Kernel& kernel, int32_t value) {
  const int32_t negative = kernel.apply(Op::lt, {value, kernel.constant(0)});
  const int32_t up = kernel.apply(Op::ceil, {value});
  const int32_t down = kernel.apply(Op::floor, {value});
  return kernel.apply(Op::where, {negative, up, down});
}

int32_t whole_result(const NodeImport& node, Kernel& k, const std::vector<int>& labels,
                     int32_t root) {
  const ElementType type = node.input(0).type;
  const bool computed =
      ConstantTensor::is_integral(type) && !node.importer().folds(k.result(labels, root, type));
  return computed ? cut_towards_zero(k, root) : root;
}

std::vector<int> product_labels(int rank, int batch, bool left) {
  if (rank == 1) return {kInner};
  std::vector<int> labels;
  labels.reserve(static_cast<size_t>(rank));
  for (int d = 0; d < rank - 2; ++d) labels.push_back(batch - (rank - 2) + d);
  labels.push_back(left ? kRow : kInner);
  labels.push_back(left ? kInner : kColumn);
  return labels;
}

std::vector<int> result_labels(const View& a, const View& b, int batch) {
  std::vector<int> labels = all_labels(batch);
  if (a.rank() > 1) labels.push_back(kRow);
  if (b.rank() > 1) labels.push_back(kColumn);
  return labels;
}

int product_batch(const NodeImport& node, const View& a, const View& b) {
  if (a.rank() == 0 || b.rank() == 0) node.reject("expected operands of rank 1 or more");
  const int64_t left = a.extent(a.rank() - 1);
  const int64_t right = b.extent(b.rank() == 1 ? 0 : b.rank() - 2);
  if (left != right) {
    node.reject(fmt::format("shapes [{}] and [{}] do not multiply: inner extents {} and {} differ",
                            fmt::join(a.shape(), ","), fmt::join(b.shape(), ","), left, right));
  }
  return std::max({a.rank() - 2, b.rank() - 2, 0});
}

View unary_view(const NodeImport& node, Op op, const View& x) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(a);
  return k.result(all_labels(x.rank()), k.apply(op, {value}), x.type);
}

View binary_view(const NodeImport& node, Op op, const View& x, const View& y) {
  Kernel k = node.kernel();
  const int a = k.broadcast(x, x.rank());
  const int b = k.broadcast(y, x.rank());
  const int32_t left = k.use(a);
  const int32_t right = k.use(b);
  return k.result(all_labels(x.rank()), k.apply(op, {left, right}), x.type);
}

View reduced_view(const NodeImport& node, Reduction reduction, const View& x,
                  const std::vector<int>& axes) {
  Kernel k = node.kernel();
  const int a = k.operand(x, all_labels(x.rank()));
  const int32_t value = k.use(a);
  const int32_t root = k.reduce(reduction, axes, value);
  std::vector<int> labels = all_labels(x.rank());
  for (const int axis : axes) labels[static_cast<size_t>(axis)] = -1;
  return k.result(labels, root, x.type);
}

View derived_constant(NodeImport& node, const std::string& suffix, ConstantPtr data) {
  return node.importer().add_constant(node.output_name(0) + "." + suffix, std::move(data));
}

std::vector<int> distinct_axes(const NodeImport& node, const std::vector<int64_t>& given,
                               int rank) {
  std::vector<int> axes;
  std::vector<bool> taken(static_cast<size_t>(rank), false);
  for (const int64_t a : given) {
    const int axis = node.axis(a, rank);
    if (taken[static_cast<size_t>(axis)]) node.reject(fmt::format("axis {} is given twice", a));
    taken[static_cast<size_t>(axis)] = true;
    axes.push_back(axis);
  }
  return axes;
}

std::vector<int64_t> checked_indices(const NodeImport& node, std::vector<int64_t> indices,
                                     int64_t extent) {
  for (int64_t& i : indices) {
    if (i < -extent || i >= extent) {
      node.reject(fmt::format("index {} is outside a dimension of extent {}", i, extent));
    }
    if (i < 0) i += extent;
  }
  return indices;
}

void check_parts(const NodeImport& node, const std::vector<int64_t>& parts, int64_t extent) {
  int64_t rest = extent;
  bool fit = true;
  for (const int64_t part : parts) {
    fit = fit && part >= 0 && part <= rest;
    rest -= fit ? part : 0;
  }
  if (fit && rest == 0) return;
  node.reject(fmt::format("parts of extents [{}], expected extents of 0 or more that add up to {}",
                          fmt::join(parts, ","), extent));
}

IndexedBlocks indexed_blocks(const NodeImport& node, const View& data, int batch, int64_t depth,
                             const std::vector<int64_t>& indices) {
  const int indexed = batch + static_cast<int>(depth);
  int64_t batches = 1;
  int64_t blocks = 1;  // of a batch
  for (int d = 0; d < indexed; ++d) (d < batch ? batches : blocks) *= data.extent(d);
  IndexedBlocks result{{batches * blocks}, {}};
  for (int d = indexed; d < data.rank(); ++d) result.shape.push_back(data.extent(d));
  const auto tuples = static_cast<int64_t>(indices.size()) / depth;
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t place = batches == 0 ? 0 : t / (tuples / batches);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t extent = data.extent(batch + static_cast<int>(k));
      const int64_t index = indices[static_cast<size_t>(t * depth + k)];
      place = place * extent + checked_indices(node, {index}, extent)[0];
    }
    result.places.push_back(place);
  }
  return result;
}

View chosen_sum(const NodeImport& node, const View& chosen, const std::vector<int>& labels,
                const View& x, int axis) {
  Kernel k = node.kernel();
  std::vector<int> from = all_labels(x.rank());
  from[static_cast<size_t>(axis)] = kSource;
  const int p = k.operand(chosen, labels);
  const int q = k.operand(x, from);
  const int32_t is_chosen = k.use(p);
  const int32_t value = k.use(q);
  const int32_t picked = k.apply(Op::where, {is_chosen, value, k.constant(0)});
  const int32_t root = k.reduce(Reduction::sum, {kSource}, picked);
  return k.result(all_labels(x.rank()), root, x.type);
}

}  // namespace fuseflow
