// Windows and convolutions. Out of range reads 0, which is what padding means for a sum.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "import/importer.h"
#include "import/operators/registry.h"
#include "import/operators/window.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/text.h"

namespace fuseflow {

std::vector<int64_t> window_list(const NodeImport& node, const std::string& name, size_t count,
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

std::string automatic_padding(const NodeImport& node) {
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && automatic != "SAME_UPPER" &&
      automatic != "SAME_LOWER")
    node.reject(fmt::format(
        "attribute 'auto_pad' is '{}', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
        shown(automatic)));
  const std::vector<int64_t> pads = node.integers("pads");
  const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
  if (automatic != "NOTSET" && padded) {
    node.reject(fmt::format("attribute 'pads' is [{}] beside 'auto_pad' {}, expected one of them",
                            fmt::join(pads, ","), automatic));
  }
  return automatic;
}

Window window_of(const NodeImport& node, const View& x, std::vector<int64_t> kernel) {
  Window w;
  w.kernel = std::move(kernel);
  const size_t n = w.kernel.size();
  if (x.rank() != static_cast<int>(n) + 2)
    node.reject("the kernel does not fit the rank of the input");
  for (const int64_t k : w.kernel) {
    if (k < 1 || k > kMaxWindow) node.reject("a kernel extent is out of range");
  }
  w.strides = window_list(node, "strides", n, 1, 1);
  w.dilations = window_list(node, "dilations", n, 1, 1);
  const std::vector<int64_t> pads = window_list(node, "pads", 2 * n, 0, 0);
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  const std::string automatic = automatic_padding(node);
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

std::vector<int> spatial_labels(int first, size_t rank) {
  std::vector<int> labels;
  for (size_t d = 0; d < rank; ++d) labels.push_back(first + static_cast<int>(d));
  return labels;
}

Subscript label_subscript(Kernel& k, int label, int64_t extent) {
  return extent > 1 ? Subscript{{{k.index(label), 1}}, 0} : Subscript{};
}

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

bool flat_dimension(const View& x) {
  for (int d = 2; d < x.rank(); ++d) {
    if (x.extent(d) == 1) return true;
  }
  return false;
}

std::vector<int64_t> kernel_extents(const NodeImport& node, const View& weights) {
  std::vector<int64_t> kernel = weights.shape();
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  if (node.has_attribute("kernel_shape") && node.integers("kernel_shape") != kernel) {
    node.reject(fmt::format("attribute 'kernel_shape' is [{}], but the weights have [{}]",
                            fmt::join(node.integers("kernel_shape"), ","), fmt::join(kernel, ",")));
  }
  return kernel;
}

Convolution convolution(NodeImport& node, const View& x, const View& weights, const View* bias) {
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
  const std::vector<int64_t> kernel = kernel_extents(node, weights);
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
  const std::vector<int> inner = spatial_labels(kKernel, w.rank());
  weight_labels.insert(weight_labels.end(), inner.begin(), inner.end());
  const int f = k.operand(split, weight_labels);
  int b = -1;
  if (bias != nullptr)
    b = k.operand(node.reshaped(*bias, {groups, filters / groups}), {kGroup, kOut});
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
    const int32_t added = k.use(b);
    root = k.apply(Op::add, {root, added});
  }
  std::vector<int> labels = {0, kGroup, kOut};
  const std::vector<int> out = spatial_labels(kOutput, w.rank());
  labels.insert(labels.end(), out.begin(), out.end());
  const View result = k.result(labels, root, x.type);
  std::vector<int64_t> shape = {x.extent(0), filters};
  shape.insert(shape.end(), w.output.begin(), w.output.end());
  return {result, std::move(shape)};
}

namespace {

void conv(NodeImport& node) {
  const View x = node.whole(node.input(0), "input");
  const View* bias = node.has_input(2) ? &node.input(2) : nullptr;
  const Convolution c = convolution(node, x, node.input(1), bias);
  node.define_reshaped(0, c.value, c.shape);
}

constexpr OperatorRow kWindowRows[] = {
    {"Conv", conv},
};

}  // namespace

std::span<const OperatorRow> window_operators() {
  return kWindowRows;
}

}  // namespace fuseflow
