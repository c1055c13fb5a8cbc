// Pad: by a value, or by what is there, and CenterCropPad.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "import/expansion.h"
#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/window.h"
#include "support/text.h"

namespace fuseflow {

namespace {

enum class Repeated { edge, mirrored, around };

/// The element that stands at place i of a dimension of n, from before its first to after its last.
int64_t repeated_element(Repeated how, int64_t i, int64_t n) {
  if (how == Repeated::edge) return std::clamp<int64_t>(i, 0, n - 1);
  if (how == Repeated::around) return (i % n + n) % n;
  return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}

/// Padding by what is there: the edge, all of it mirrored or again from the other side. A
/// selection.
void pad_by_selection(NodeImport& node, View x, const std::vector<int64_t>& pads, Repeated how) {
  const int rank = x.rank();
  for (int d = 0; d < rank; ++d) {
    const int64_t low = std::max<int64_t>(0, pads[static_cast<size_t>(d)]);
    const int64_t high =
        std::max<int64_t>(0, pads[static_cast<size_t>(rank) + static_cast<size_t>(d)]);
    const int64_t n = x.extent(d);
    if (low > kMaxWindow || high > kMaxWindow)
      node.reject(fmt::format("pads {} and {} of dimension {} are out of range", low, high, d));
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
  const std::vector<int> dims = distinct_axes(node, axes, rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<size_t>(dims[i]);
    pads[d] = (*given)[i];
    pads[d + static_cast<size_t>(rank)] = (*given)[i + axes.size()];
  }
  return pads;
}

/// The input without what negative pads cut.
View cut_input(NodeImport& node, const std::vector<int64_t>& pads) {
  View x = node.input(0);
  const int rank = x.rank();
  for (int d = 0; d < rank; ++d) {
    int64_t low = std::min<int64_t>(0, pads[static_cast<size_t>(d)]);
    int64_t high = std::min<int64_t>(0, pads[static_cast<size_t>(rank) + static_cast<size_t>(d)]);
    if (low < -kMaxWindow || high < -kMaxWindow || -low - high > x.extent(d))
      node.reject(fmt::format("pads {} and {} remove more than the extent {} of dimension {}", low,
                              high, x.extent(d), d));
    if (low < 0 || high < 0) x = node.sliced(x, d, -low, 1, x.extent(d) + low + high);
  }
  return x;
}

/// Constant padding: the input in its place, the value elsewhere.
void pad(NodeImport& node) {
  const std::string mode = node.text("mode", "constant");
  const int rank = node.input(0).rank();
  const std::vector<int64_t> pads = pads_of(node, rank);
  const View x = cut_input(node, pads);
  if (mode == "edge" || mode == "reflect" || (mode == "wrap" && node.opset() >= 19)) {
    node.ignore_input(2);  // the constant
    node.ignore({"value"});
    const Repeated how = mode == "edge"      ? Repeated::edge
                         : mode == "reflect" ? Repeated::mirrored
                                             : Repeated::around;
    return pad_by_selection(node, x, pads, how);
  }
  if (mode != "constant") {
    node.reject(fmt::format("mode '{}' is none of opset {}, expected constant, edge, reflect{}",
                            shown(mode), node.opset(), node.opset() >= 19 ? " or wrap" : ""));
  }
  float value = node.real("value", 0);
  bool exact = true;  // f32 has the value
  if (node.has_input(2)) {
    const ConstantPtr data = node.constant_input(2, "the value");
    if (data->size() != 1)
      node.reject(fmt::format("the value has {} elements, expected one", data->size()));
    value = data->as_float(0);
    exact = !data->integral() || integer_of(value) == data->as_int(0);
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
  if (within >= 0) {
    const int32_t filler =
        exact ? k.constant(value) : k.use(k.broadcast(node.reshaped(node.input(2), {}), rank));
    root = k.apply(Op::where, {within, root, filler});
  }
  const View result = k.result(all_labels(rank), root, x.type);
  if (node.importer().is_constant(result)) return node.define(0, result);
  node.output(0, result);
}

/// Cut or padded with zeros at both ends of each dimension; an odd rest is at the end.
void center_crop_pad(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<int64_t> wanted = node.ints_input(1, "the shape");
  std::vector<int> axes = all_labels(x.rank());
  if (node.has_attribute("axes")) axes = distinct_axes(node, node.integers("axes"), x.rank());
  if (axes.size() != wanted.size()) {
    node.reject(fmt::format("a shape of {} extents for {} dimensions", wanted.size(), axes.size()));
  }
  Expansion body(node);
  BodyValue y = body.input(0);
  std::vector<int64_t> pads(2 * static_cast<size_t>(x.rank()), 0);
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t extent = x.extent(axes[a]);
    const auto d = static_cast<size_t>(axes[a]);
    if (wanted[a] < 0 || wanted[a] > kMaxWindow)
      node.reject(fmt::format("extent {} of dimension {} is out of range", wanted[a], axes[a]));
    if (wanted[a] < extent) {
      const int64_t cut = (extent - wanted[a]) / 2;
      y = body.slice(y, axes[a], cut, cut + wanted[a]);
    } else {
      pads[d] = (wanted[a] - extent) / 2;
      pads[d + static_cast<size_t>(x.rank())] = wanted[a] - extent - pads[d];
    }
  }
  if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; }))
    y = body.add("Pad", {y, body.integers(std::move(pads))});
  body.result(0, y);
  body.finish();
}

constexpr OperatorRow kPaddingRows[] = {
    {"CenterCropPad", center_crop_pad, "a shape that is not constant", ReadAs::body},
    {"Pad", pad, "a value that is not constant"},
};

}  // namespace

std::span<const OperatorRow> padding_operators() {
  return kPaddingRows;
}

}  // namespace fuseflow
