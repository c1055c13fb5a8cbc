// Convolution and pooling: subscripts stride * output + dilation * kernel - padding. Out of range
// reads 0, which is what padding means for a sum; pooling guards its windows where it matters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int kOutput = 100;  // + spatial dimension
constexpr int kKernel = 200;
constexpr int kGroup = 300;
constexpr int kIn = 301;   // input channels of a group
constexpr int kOut = 302;  // output channels of a group
constexpr int64_t kMaxWindow = int64_t{1} << 20;

struct Window {
  std::vector<int64_t> kernel, strides, dilations, begin, end, output;
  bool padded = false;  ///< some window reaches beyond the input
  size_t rank() const { return kernel.size(); }
};

std::vector<int64_t> listed(const NodeImport& node, const std::string& name, size_t count,
                            int64_t otherwise, int64_t least) {
  std::vector<int64_t> v = node.integers(name);
  if (v.empty()) v.assign(count, otherwise);
  if (v.size() != count)
    node.reject(fmt::format("attribute '{}' has {} entries, expected {}", name, v.size(), count));
  for (const int64_t x : v) {
    if (x < least || x > kMaxWindow)
      node.reject(fmt::format("attribute '{}' has the entry {}, expected {} to {}", name, x, least,
                              kMaxWindow));
  }
  return v;
}

/// The geometry of a sliding window over the spatial dimensions (2 ..) of `x`.
Window window_of(const NodeImport& node, const View& x, std::vector<int64_t> kernel) {
  Window w;
  w.kernel = std::move(kernel);
  const size_t n = w.kernel.size();
  if (x.rank() != static_cast<int>(n) + 2)
    node.reject("the kernel does not fit the rank of the input");
  for (const int64_t k : w.kernel) {
    if (k < 1 || k > kMaxWindow) node.reject("a kernel extent is out of range");
  }
  w.strides = listed(node, "strides", n, 1, 1);
  w.dilations = listed(node, "dilations", n, 1, 1);
  const std::vector<int64_t> pads = listed(node, "pads", 2 * n, 0, 0);
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && !automatic.starts_with("SAME_"))
    node.reject(fmt::format(
        "attribute 'auto_pad' is '{}', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
        shown(automatic)));
  const bool up = node.integer("ceil_mode", 0) != 0;
  for (size_t d = 0; d < n; ++d) {
    const int64_t extent = x.extent(static_cast<int>(d) + 2);
    const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t out = ceil_div(extent, w.strides[d]);
      const int64_t total = std::max<int64_t>(0, (out - 1) * w.strides[d] + reach - extent);
      w.begin[d] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      w.end[d] = total - w.begin[d];
    } else if (automatic == "VALID") {
      w.begin[d] = w.end[d] = 0;
    }
    const int64_t room = extent + w.begin[d] + w.end[d] - reach;
    if (room < 0) node.reject("the kernel exceeds the padded input");
    int64_t out = (up ? room + w.strides[d] - 1 : room) / w.strides[d] + 1;
    if (up && (out - 1) * w.strides[d] >= extent + w.begin[d])
      --out;  // a window that starts beyond
    w.output.push_back(out);
    w.padded = w.padded || w.begin[d] > 0 || (out - 1) * w.strides[d] + reach - w.begin[d] > extent;
  }
  return w;
}

/// Declares the labels of the window and gives the subscripts of the spatial dimensions.
std::vector<Subscript> window_subscripts(Kernel& k, const Window& w) {
  std::vector<Subscript> result;
  for (size_t d = 0; d < w.rank(); ++d) {
    Subscript s;
    const int out = kOutput + static_cast<int>(d);
    const int inner = kKernel + static_cast<int>(d);
    if (w.output[d] > 1) s.terms.emplace_back(k.index(out), w.strides[d]);
    if (w.kernel[d] > 1) s.terms.emplace_back(k.index(inner), w.dilations[d]);
    s.offset = -w.begin[d];
    result.push_back(std::move(s));
  }
  return result;
}

void declare_window(Kernel& k, const Window& w) {
  for (size_t d = 0; d < w.rank(); ++d) {
    k.declare(kOutput + static_cast<int>(d), w.output[d]);
    k.declare(kKernel + static_cast<int>(d), w.kernel[d]);
  }
}

std::vector<int> window_labels(int first, const Window& w) {
  std::vector<int> labels;
  for (size_t d = 0; d < w.rank(); ++d) labels.push_back(first + static_cast<int>(d));
  return labels;
}

Subscript label_subscript(Kernel& k, int label, int64_t extent) {
  return extent > 1 ? Subscript{{{k.index(label), 1}}, 0} : Subscript{};
}

/// 1 where the subscripts are within the extents of the spatial dimensions.
int32_t inside(Kernel& k, const View& x, const std::vector<Subscript>& subscripts) {
  int32_t all = -1;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const int32_t low = k.apply(Op::ge, {k.affine(subscripts[d]), k.constant(0)});
    const int32_t high =
        k.apply(Op::lt, {k.affine(subscripts[d]),
                         k.constant(static_cast<float>(x.extent(static_cast<int>(d) + 2)))});
    const int32_t both = k.apply(Op::logical_and, {low, high});
    all = all < 0 ? both : k.apply(Op::logical_and, {all, both});
  }
  return all;
}

/// Whether a spatial dimension has extent 1, whose subscript a view cannot carry out of range.
bool flat_dimension(const View& x) {
  for (int d = 2; d < x.rank(); ++d) {
    if (x.extent(d) == 1) return true;
  }
  return false;
}

void conv(NodeImport& node) {
  const View x = node.whole(node.input(0), "input");
  const View& weights = node.input(1);
  if (x.rank() < 3 || weights.rank() != x.rank())
    node.reject("expected an input [N,C,...] and weights [M,C/group,...]");
  const int64_t groups = node.integer("group", 1);
  const int64_t channels = x.extent(1);
  const int64_t filters = weights.extent(0);
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 ||
      weights.extent(1) != channels / groups) {
    node.reject(fmt::format("{} channels, {} filters of {} and {} groups do not fit", channels,
                            filters, weights.extent(1), groups));
  }
  std::vector<int64_t> kernel = weights.shape();
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  if (node.has_attribute("kernel_shape") && node.integers("kernel_shape") != kernel) {
    node.reject(fmt::format("attribute 'kernel_shape' is [{}], but the weights have [{}]",
                            fmt::join(node.integers("kernel_shape"), ","), fmt::join(kernel, ",")));
  }
  const Window w = window_of(node, x, kernel);
  std::vector<int64_t> grouped = {groups, filters / groups, channels / groups};
  grouped.insert(grouped.end(), kernel.begin(), kernel.end());
  const View split = node.reshaped(weights, grouped);

  Kernel k = node.kernel();
  declare_window(k, w);
  k.declare(kGroup, groups);
  k.declare(kIn, channels / groups);
  k.declare(0, x.extent(0));
  std::vector<int> weight_labels = {kGroup, kOut, kIn};
  const std::vector<int> inner = window_labels(kKernel, w);
  weight_labels.insert(weight_labels.end(), inner.begin(), inner.end());
  const int f = k.operand(split, weight_labels);
  int b = -1;
  if (node.has_input(2)) {
    b = k.operand(node.reshaped(node.input(2), {groups, filters / groups}), {kGroup, kOut});
  }
  std::vector<Subscript> spatial = window_subscripts(k, w);
  std::vector<Subscript> at = {label_subscript(k, 0, x.extent(0)), Subscript{}};
  if (groups > 1) at[1].terms.emplace_back(k.index(kGroup), channels / groups);
  if (channels / groups > 1) at[1].terms.emplace_back(k.index(kIn), 1);
  at.insert(at.end(), spatial.begin(), spatial.end());
  int32_t value = k.use_at(x, at);
  if (w.padded && flat_dimension(x)) {
    const int32_t within = inside(k, x, spatial);
    value = k.apply(Op::where, {within, value, k.constant(0)});
  }
  const int32_t weight = k.use(f);
  std::vector<int> summed = {kIn};
  summed.insert(summed.end(), inner.begin(), inner.end());
  int32_t root = k.reduce(Reduction::sum, summed, k.apply(Op::mul, {value, weight}));
  if (b >= 0) {
    const int32_t bias = k.use(b);
    root = k.apply(Op::add, {root, bias});
  }
  std::vector<int> labels = {0, kGroup, kOut};
  const std::vector<int> out = window_labels(kOutput, w);
  labels.insert(labels.end(), out.begin(), out.end());
  const View result = k.result(labels, root, x.type);
  std::vector<int64_t> shape = {x.extent(0), filters};
  shape.insert(shape.end(), w.output.begin(), w.output.end());
  node.define_reshaped(0, result, shape);
}

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

enum class Pool { maximum, average };

template <Pool pool>
void pooling(NodeImport& node) {
  const View x = node.whole(node.input(0), "input");
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  const Window w = window_of(node, x, node.integers("kernel_shape"));
  Kernel k = node.kernel();
  declare_window(k, w);
  k.declare(0, x.extent(0));
  k.declare(1, x.extent(1));
  int divisor = -1;
  if (pool == Pool::average) {
    const View counts = window_counts(node, x, w, node.integer("count_include_pad", 0) != 0);
    divisor = k.operand(counts, window_labels(kOutput, w));
  }
  const std::vector<Subscript> spatial = window_subscripts(k, w);
  std::vector<Subscript> at = {label_subscript(k, 0, x.extent(0)),
                               label_subscript(k, 1, x.extent(1))};
  at.insert(at.end(), spatial.begin(), spatial.end());
  int32_t value = k.use_at(x, at);
  if (w.padded && (pool == Pool::maximum || flat_dimension(x))) {
    const int32_t within = inside(k, x, spatial);
    const float outside = pool == Pool::maximum ? -std::numeric_limits<float>::infinity() : 0;
    value = k.apply(Op::where, {within, value, k.constant(outside)});
  }
  const std::vector<int> inner = window_labels(kKernel, w);
  int32_t root = k.reduce(pool == Pool::maximum ? Reduction::max : Reduction::sum, inner, value);
  if (pool == Pool::average) {
    const int32_t count = k.use(divisor);
    root = k.apply(Op::div, {root, count});
  }
  std::vector<int> labels = {0, 1};
  const std::vector<int> out = window_labels(kOutput, w);
  labels.insert(labels.end(), out.begin(), out.end());
  node.define(0, k.result(labels, root, x.type));
}

void max_pool(NodeImport& node) {
  if (node.has_output(1)) node.reject("the positions of the maxima (output 1) are not supported");
  node.ignore({"storage_order"});  // of these positions
  pooling<Pool::maximum>(node);
}

template <Reduction reduction>
void global_pool(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() < 3) node.reject("expected an input [N,C,...]");
  std::vector<int> axes(static_cast<size_t>(x.rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  node.define(0, reduced_view(node, reduction, x, axes));
}

enum class Repeated { edge, mirrored, around };

/// The element that stands at place i of a dimension of n, from before its first to after its last.
int64_t repeated_element(Repeated how, int64_t i, int64_t n) {
  if (how == Repeated::edge) return std::clamp<int64_t>(i, 0, n - 1);
  if (how == Repeated::around) return (i % n + n) % n;
  return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}

/// Padding by what is there: the edge, all of it mirrored or again from the other side. A
/// selection.
void pad_by_selection(NodeImport& node, const std::vector<int64_t>& pads, Repeated how) {
  View x = node.input(0);
  const int rank = x.rank();
  for (int d = 0; d < rank; ++d) {
    const int64_t low = pads[static_cast<size_t>(d)];
    const int64_t high = pads[static_cast<size_t>(rank) + static_cast<size_t>(d)];
    const int64_t n = x.extent(d);
    if (low < 0 || high < 0 || low > kMaxWindow || high > kMaxWindow)
      node.reject("a pad is out of range");
    if (low == 0 && high == 0) continue;
    if (how == Repeated::mirrored && n > 0 && (low >= n || high >= n))
      node.reject("a pad exceeds what can be mirrored");
    if (n == 0) node.reject(fmt::format("dimension {} has no element to repeat", d));
    std::vector<int64_t> indices;
    for (int64_t i = -low; i < n + high; ++i) indices.push_back(repeated_element(how, i, n));
    x = select_elements(node, x, indices, d);
  }
  node.output(0, x);
}

/// The pads before all dimensions, then those after them: as given, or given for the axes of
/// input 3 (since opset 18).
std::vector<int64_t> pads_of(const NodeImport& node, int rank) {
  const auto given = node.ints(1, node.opset() < 2 ? "paddings" : "pads", "the pads");
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) axes = node.ints_input(3, "the axes");
  if (!given || given->size() != 2 * axes.size()) {
    node.reject(fmt::format("{} pads, expected two for each of {} dimensions",
                            given ? given->size() : 0, axes.size()));
  }
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  std::vector<bool> padded(static_cast<size_t>(rank), false);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(node.axis(axes[i], rank));
    if (padded[d]) node.reject(fmt::format("axis {} is given twice", axes[i]));
    padded[d] = true;
    pads[d] = (*given)[i];
    pads[d + static_cast<size_t>(rank)] = (*given)[i + axes.size()];
  }
  return pads;
}

/// Constant padding: the input in its place, the value elsewhere.
void pad(NodeImport& node) {
  const std::string mode = node.text("mode", "constant");
  View x = node.input(0);
  const int rank = x.rank();
  const std::vector<int64_t> pads = pads_of(node, rank);
  if (mode == "edge" || mode == "reflect" || (mode == "wrap" && node.opset() >= 19)) {
    node.ignore_input(2);  // the constant
    node.ignore({"value"});
    const Repeated how = mode == "edge"      ? Repeated::edge
                         : mode == "reflect" ? Repeated::mirrored
                                             : Repeated::around;
    return pad_by_selection(node, pads, how);
  }
  if (mode != "constant") {
    node.reject(fmt::format("mode '{}' is none of opset {}, expected constant, edge, reflect{}",
                            shown(mode), node.opset(), node.opset() >= 19 ? " or wrap" : ""));
  }
  float value = node.real("value", 0);
  if (node.has_input(2)) {
    const ConstantPtr data = node.constant_input(2, "the value");
    if (data->size() != 1)
      node.reject(fmt::format("the value has {} elements, expected one", data->size()));
    value = data->as_float(0);
  }
  for (int d = 0; d < rank; ++d) {  // negative pads cut
    int64_t low = std::min<int64_t>(0, pads[static_cast<size_t>(d)]);
    int64_t high = std::min<int64_t>(0, pads[static_cast<size_t>(rank) + static_cast<size_t>(d)]);
    if (low < -kMaxWindow || high < -kMaxWindow || -low - high > x.extent(d))
      node.reject(fmt::format("pads {} and {} remove more than the extent {} of dimension {}", low,
                              high, x.extent(d), d));
    if (low < 0 || high < 0) x = node.sliced(x, d, -low, 1, x.extent(d) + low + high);
  }
  Kernel k = node.kernel();
  View moved = x;
  std::vector<int> padded;
  for (int d = 0; d < rank; ++d) {
    const int64_t low = std::max<int64_t>(0, pads[static_cast<size_t>(d)]);
    const int64_t high =
        std::max<int64_t>(0, pads[static_cast<size_t>(rank) + static_cast<size_t>(d)]);
    if (low > (int64_t{1} << 40) || high > (int64_t{1} << 40)) node.reject("a pad is too large");
    if (low == 0 && high == 0) continue;
    padded.push_back(d);
    moved = placed(node.single_axis(moved, d), d, low, low + x.extent(d) + high);
  }
  const int o = k.operand(moved, all_labels(rank));
  int32_t root = k.use(o);
  int32_t within = -1;
  for (const int d : padded) {
    const auto low = static_cast<float>(std::max<int64_t>(0, pads[static_cast<size_t>(d)]));
    const int32_t from = k.apply(Op::ge, {k.coordinate(d), k.constant(low)});
    const int32_t to =
        k.apply(Op::lt, {k.coordinate(d), k.constant(low + static_cast<float>(x.extent(d)))});
    const int32_t both = k.apply(Op::logical_and, {from, to});
    within = within < 0 ? both : k.apply(Op::logical_and, {within, both});
  }
  if (within >= 0) root = k.apply(Op::where, {within, root, k.constant(value)});
  const View result = k.result(all_labels(rank), root, x.type);
  if (node.importer().is_constant(result)) return node.define(0, result);
  node.output(0, result);
}

constexpr OperatorRow kWindowRows[] = {
    {"AveragePool", pooling<Pool::average>},
    {"Conv", conv},
    {"GlobalAveragePool", global_pool<Reduction::mean>},
    {"GlobalMaxPool", global_pool<Reduction::max>},
    {"MaxPool", max_pool, "the positions of the maxima"},
    {"Pad", pad, "a value that is not constant"},
};

}  // namespace

std::span<const OperatorRow> window_operators() {
  return kWindowRows;
}

}  // namespace fuseflow
