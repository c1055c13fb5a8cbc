// Pooling: maxima, means and norms of windows. Out of range reads 0; where that is not what padding
// means, windows are guarded.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/normalization.h"
#include "import/operators/registry.h"
#include "import/operators/window.h"
#include "support/ceil_div.h"

namespace fuseflow {

namespace {

/// How many of the kernel's steps along dimension d, from output position o, are in [low, high).
int64_t steps_inside(const Window& w, size_t d, int64_t o, int64_t low, int64_t high) {
  const int64_t first = o * w.strides[d] - w.begin[d];
  const int64_t step = w.dilations[d];
  const int64_t before = low > first ? ceil_div(low - first, step) : 0;
  const int64_t until = high > first ? ceil_div(high - first, step) : 0;
  return std::max<int64_t>(0, std::min(until, w.kernel[d]) - before);
}

/// Pads beyond which an average counts nothing, as a divisor by output position.
View window_counts(NodeImport& node, const View& x, const Window& w, bool include_pads) {
  if (element_count(w.output) > kMaxFoldedElements)
    node.reject("the result has too many positions to count what each averages");
  stop_unless_room<float>(element_count(w.output));
  std::vector<float> counts = {1};
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t extent = x.extent(static_cast<int>(d) + 2);
    const int64_t low = include_pads ? -w.begin[d] : 0;
    const int64_t high = include_pads ? extent + w.end[d] : extent;
    std::vector<float> next;
    for (const float above : counts) {
      for (int64_t o = 0; o < w.output[d]; ++o)
        next.push_back(above * static_cast<float>(steps_inside(w, d, o, low, high)));
    }
    counts = std::move(next);
  }
  return derived_constant(node, "counts", constant_floats(std::move(counts), w.output));
}

/// The subscripts of a whole tensor [N,C,...] under a window.
std::vector<Subscript> pooled_subscripts(Kernel& k, const View& x, const Window& w) {
  std::vector<Subscript> at = {label_subscript(k, 0, x.extent(0)),
                               label_subscript(k, 1, x.extent(1))};
  const std::vector<Subscript> spatial = window_subscripts(k, w);
  at.insert(at.end(), spatial.begin(), spatial.end());
  return at;
}

std::vector<int> pooled_labels(const Window& w) {
  std::vector<int> labels = {0, 1};
  const std::vector<int> out = spatial_labels(kOutput, w.rank());
  labels.insert(labels.end(), out.begin(), out.end());
  return labels;
}

/// `value` where the window is inside of x, `outside` elsewhere.
int32_t guarded(Kernel& k, const View& x, const Window& w, int32_t value, float outside) {
  const int32_t within = inside(k, x, window_subscripts(k, w));
  return k.apply(Op::where, {within, value, k.constant(outside)});
}

View pooled_input(NodeImport& node) {
  const View x = node.whole(node.input(0), "input");
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  return x;
}

Kernel pool_kernel(const NodeImport& node, const View& x, const Window& w) {
  Kernel k = node.kernel();
  declare_window(k, w);
  k.declare(0, x.extent(0));
  k.declare(1, x.extent(1));
  return k;
}

void average_pool(NodeImport& node) {
  const View x = pooled_input(node);
  const Window w = window_of(node, x, node.integers("kernel_shape"));
  Kernel k = pool_kernel(node, x, w);
  const View counts = window_counts(node, x, w, node.integer("count_include_pad", 0) != 0);
  const int divisor = k.operand(counts, spatial_labels(kOutput, w.rank()));
  int32_t value = k.use_at(x, pooled_subscripts(k, x, w));
  if (w.padded && flat_dimension(x)) value = guarded(k, x, w, value, 0);
  const int32_t sum = k.reduce(Reduction::sum, spatial_labels(kKernel, w.rank()), value);
  const int32_t root = k.apply(Op::div, {sum, k.use(divisor)});
  node.define(0, k.result(pooled_labels(w), root, x.type));
}

/// The norm of an attribute, 2 if it is left out; once a number with a fraction.
float norm_order(const NodeImport& node) {
  const bool old = node.opset() < 2;
  const float p = old ? node.real("p", 2) : static_cast<float>(node.integer("p", 2));
  if (!(p >= 1)) node.reject(fmt::format("p = {}, expected 1 or more", p));
  return p;
}

/// |value|^p
int32_t sized_power(Kernel& k, int32_t value, float p) {
  if (p == 2) return k.apply(Op::mul, {value, value});
  const int32_t size = k.apply(Op::abs, {value});
  return p == 1 ? size : k.apply(Op::pow, {size, k.constant(p)});
}

/// value^(1 / p)
int32_t sized_root(Kernel& k, int32_t value, float p) {
  if (p == 1) return value;
  return p == 2 ? k.apply(Op::sqrt, {value}) : k.apply(Op::pow, {value, k.constant(1 / p)});
}

/// (sum |x|^p)^(1 / p)
void lp_pool(NodeImport& node) {
  const View x = pooled_input(node);
  const Window w = window_of(node, x, node.integers("kernel_shape"));
  const float p = norm_order(node);
  Kernel k = pool_kernel(node, x, w);
  int32_t value = sized_power(k, k.use_at(x, pooled_subscripts(k, x, w)), p);
  if (w.padded && flat_dimension(x)) value = guarded(k, x, w, value, 0);
  const int32_t sum = k.reduce(Reduction::sum, spatial_labels(kKernel, w.rank()), value);
  node.define(0, k.result(pooled_labels(w), sized_root(k, sum, p), x.type));
}

/// The first place that has each maximum, as the number of an element of the whole tensor.
View maximum_places(const NodeImport& node, const View& x, const Window& w, const View& maximum) {
  constexpr int64_t kExactInF32 = int64_t{1} << 24;
  constexpr float kBeyond = std::numeric_limits<float>::infinity();
  if (x.size() > kExactInF32)
    node.reject(
        fmt::format("the positions of the maxima (output 1) of {} elements, expected at "
                    "most {}",
                    x.size(), kExactInF32));
  const bool by_column = node.integer("storage_order", 0) != 0;
  Kernel k = pool_kernel(node, x, w);
  const int largest = k.operand(maximum, pooled_labels(w));
  const std::vector<Subscript> at = pooled_subscripts(k, x, w);
  Subscript place;
  int64_t step = 1;
  const auto advance = [&](size_t d) {
    for (const auto& [index, factor] : at[d].terms) place.terms.emplace_back(index, factor * step);
    place.offset += at[d].offset * step;
    step *= x.extent(static_cast<int>(d));
  };
  for (size_t d = 2; d < at.size(); ++d) advance(by_column ? d : at.size() + 1 - d);
  advance(1);
  advance(0);
  const int32_t found = k.apply(Op::eq, {k.use_at(x, at), k.use(largest)});
  int32_t number = k.apply(Op::where, {found, k.affine(place), k.constant(kBeyond)});
  if (w.padded) number = guarded(k, x, w, number, kBeyond);
  const int32_t first = k.reduce(Reduction::min, spatial_labels(kKernel, w.rank()), number);
  return k.result(pooled_labels(w), first, ElementType::i64);
}

void max_pool(NodeImport& node) {
  const View x = pooled_input(node);
  const Window w = window_of(node, x, node.integers("kernel_shape"));
  Kernel k = pool_kernel(node, x, w);
  int32_t value = k.use_at(x, pooled_subscripts(k, x, w));
  if (w.padded) value = guarded(k, x, w, value, -std::numeric_limits<float>::infinity());
  const int32_t root = k.reduce(Reduction::max, spatial_labels(kKernel, w.rank()), value);
  node.define(0, k.result(pooled_labels(w), root, x.type));
  node.ignore({"storage_order"});  // of the positions
  if (node.has_output(1))
    node.define(1, maximum_places(node, x, w, node.importer().value(node.output_name(0))));
}

template <Reduction reduction>
void global_pool(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  std::vector<int> axes(static_cast<size_t>(x.rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  node.define(0, reduced_view(node, reduction, x, axes));
}

void global_lp_pool(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  const float p = norm_order(node);
  Kernel k = node.kernel();
  std::vector<int> labels = all_labels(x.rank());
  const int at = k.operand(x, labels);
  const int32_t value = sized_power(k, k.use(at), p);
  const int32_t sum = k.reduce(Reduction::sum, axes_from(2, x.rank()), value);
  std::fill(labels.begin() + 2, labels.end(), -1);
  node.define(0, k.result(labels, sized_root(k, sum, p), x.type));
}

/// x / (bias + alpha / size * the sum of squares of `size` channels around it)^beta
void local_response_normalization(NodeImport& node) {
  constexpr int kNeighbour = 900;
  const View x = node.whole(node.input(0), "input");
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  const int64_t size = node.integer("size", 0);
  if (size < 1 || size > kMaxWindow) node.reject(fmt::format("size = {}", size));
  Kernel k = node.kernel();
  for (int d = 0; d < x.rank(); ++d) k.declare(d, x.extent(d));
  k.declare(kNeighbour, size);
  std::vector<Subscript> at;
  for (int d = 0; d < x.rank(); ++d) at.push_back(label_subscript(k, d, x.extent(d)));
  std::vector<Subscript> around = at;
  around[1].offset = -((size - 1) / 2);
  if (size > 1) around[1].terms.emplace_back(k.index(kNeighbour), 1);
  const int32_t near = k.use_at(x, around);
  int32_t square = k.apply(Op::mul, {near, near});
  if (x.extent(1) == 1) {  // its subscript goes nowhere
    const int32_t itself = k.apply(Op::eq, {k.affine(around[1]), k.constant(0)});
    square = k.apply(Op::where, {itself, square, k.constant(0)});
  }
  const int32_t sum = k.reduce(Reduction::sum, {kNeighbour}, square);
  const float alpha = node.real("alpha", 1e-4F) / static_cast<float>(size);
  const int32_t scaled_sum = k.apply(Op::mul, {k.constant(alpha), sum});
  const int32_t base = k.apply(Op::add, {k.constant(node.real("bias", 1)), scaled_sum});
  const int32_t power = k.apply(Op::pow, {base, k.constant(node.real("beta", 0.75F))});
  const int32_t root = k.apply(Op::div, {k.use_at(x, at), power});
  node.define(0, k.result(all_labels(x.rank()), root, x.type));
}

constexpr OperatorRow kPoolRows[] = {
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_pool<Reduction::mean>},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_pool<Reduction::max>},
    {"LRN", local_response_normalization},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
};

}  // namespace

std::span<const OperatorRow> pool_operators() {
  return kPoolRows;
}

}  // namespace fuseflow
