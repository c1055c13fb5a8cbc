// Operators that move data without arithmetic: they change the view and emit nothing. Casts:
// cast.cpp.
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
#include "tensor/limits.h"

namespace fuseflow {

namespace {

void identity(NodeImport& node) {
  const View& value = node.any_input(0);
  if (value.sequence) return node.output_sequence(0, *value.sequence, value.type);
  node.output(0, value);
}

/// Dropout at inference: the input, and a mask that keeps everything.
void dropout(NodeImport& node) {
  node.ignore({"ratio", "seed"});  // of what training drops
  node.ignore_input(1);
  if (node.opset() < 7 && node.integer("is_test", 0) == 0)
    node.reject("without attribute is_test = 1 it drops at random; export the model with eval()");
  if (node.has_input(2)) {
    const ConstantPtr training = node.constant_input(2, "training_mode");
    const ConstantPtr ratio = node.has_input(1) ? node.constant_input(1, "ratio") : nullptr;
    const auto is_zero = [](const ConstantPtr& scalar) {
      return scalar && scalar->size() == 1 && scalar->as_float(0) == 0;
    };
    if (!is_zero(training) && !is_zero(ratio)) {
      node.reject("training mode drops at random; export the model with model.eval()");
    }
  }
  node.output(0, node.input(0));
  if (!node.has_output(1)) return;
  View mask = scalar_view(1, ElementType::boolean);
  expand(mask, node.input(0).shape());
  node.output(1, std::move(mask));
}

void transpose_node(NodeImport& node) {
  View view = node.input(0);
  std::vector<int> order;
  for (const int64_t d : node.integers("perm")) order.push_back(node.axis(d, view.rank()));
  if (!node.has_attribute("perm")) {
    order.resize(static_cast<size_t>(view.rank()));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int d = 0; d < view.rank(); ++d) {
    if (static_cast<int>(sorted.size()) != view.rank() || sorted[static_cast<size_t>(d)] != d) {
      node.reject("attribute 'perm' is not a permutation of the dimensions");
    }
  }
  transpose(view, order);
  node.output(0, std::move(view));
  const View& from = node.input(0);
  if (!from.parts) return;
  const auto at = std::find(order.begin(), order.end(), from.parts->dim);
  node.move_parts(from, static_cast<int>(at - order.begin()), [&](View part) {
    transpose(part, order);
    return part;
  });
}

/// The product of extents, refusing what is out of range and what has too many.
int64_t checked_product(const NodeImport& node, const std::vector<int64_t>& extents) {
  if (extents.size() > kMostDimensions) {
    node.reject(fmt::format("a shape of {} dimensions, expected at most {}", extents.size(),
                            kMostDimensions));
  }
  for (const int64_t e : extents) {
    if (e < 0)
      node.reject(fmt::format("shape [{}] has a negative extent", fmt::join(extents, ",")));
  }
  return element_count(extents);
}

void reshape_node(NodeImport& node) {
  const View& input = node.input(0);
  const auto given = node.ints(1, "shape", "the new shape");
  if (!given) node.reject("the shape is missing");
  std::vector<int64_t> shape = *given;
  const bool keep_zeros = node.integer("allowzero", 0) != 0;
  std::vector<int64_t> given_extents;
  int inferred = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !keep_zeros) {
      if (d >= static_cast<size_t>(input.rank()))
        node.reject("a 0 in the shape copies a dimension that is not there");
      shape[d] = input.extent(static_cast<int>(d));
    }
    if (shape[d] == -1 && inferred < 0)
      inferred = static_cast<int>(d);
    else if (shape[d] < 0)
      node.reject(fmt::format("shape [{}] has a negative extent, expected at most one -1",
                              fmt::join(shape, ",")));
    else
      given_extents.push_back(shape[d]);
  }
  const int64_t known = element_count(given_extents);
  if (inferred >= 0 && known == 0) {
    node.reject(fmt::format(
        "shape [{}] has an extent of 0, beside which a -1 may be any extent; expected one of them",
        fmt::join(shape, ",")));
  }
  if (inferred >= 0) shape[static_cast<size_t>(inferred)] = input.size() / known;
  if (checked_product(node, shape) != input.size()) {
    node.reject(fmt::format("a tensor of shape [{}] cannot be reshaped to [{}]",
                            fmt::join(input.shape(), ","), fmt::join(shape, ",")));
  }
  node.output(0, node.reshaped(input, shape));
}

/// The attribute `blocksize`. `fits`: whether the extents of a tensor of four dimensions allow it;
/// `expected` says what they have to be.
template <typename Fits>
int64_t block_size(NodeImport& node, const Fits& fits, std::string_view expected) {
  const View& x = node.input(0);
  const int64_t b = node.integer("blocksize", 0);
  if (x.rank() != 4 || b < 1 || b > 4096 || !fits(x, b)) {
    node.reject(fmt::format(
        "blocksize {} of an input [{}], expected a blocksize of 1 to 4096 and four dimensions, {}",
        b, fmt::join(x.shape(), ","), expected));
  }
  return b;
}

/// Blocks of channels to spatial blocks, or back: reshape and transpose.
void depth_to_space(NodeImport& node) {
  const View& x = node.input(0);
  const auto fits = [](const View& v, int64_t b) { return v.extent(1) % (b * b) == 0; };
  const int64_t b = block_size(node, fits, "the channels divisible by its square");
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    node.reject(fmt::format("attribute 'mode' is '{}', expected DCR or CRD", shown(mode)));
  const bool crd = mode == "CRD";
  const int64_t n = x.extent(0), c = x.extent(1) / (b * b), h = x.extent(2), w = x.extent(3);
  View v = node.reshaped(
      x, crd ? std::vector<int64_t>{n, c, b, b, h, w} : std::vector<int64_t>{n, b, b, c, h, w});
  transpose(v, crd ? std::vector<int>{0, 1, 4, 2, 5, 3} : std::vector<int>{0, 3, 4, 1, 5, 2});
  node.output(0, node.reshaped(v, {n, c, h * b, w * b}));
}

void space_to_depth(NodeImport& node) {
  const View& x = node.input(0);
  const auto fits = [](const View& v, int64_t b) {
    return v.extent(2) % b == 0 && v.extent(3) % b == 0;
  };
  const int64_t b = block_size(node, fits, "height and width divisible by it");
  const int64_t n = x.extent(0), c = x.extent(1), h = x.extent(2) / b, w = x.extent(3) / b;
  View v = node.reshaped(x, {n, c, h, b, w, b});
  transpose(v, {0, 3, 5, 1, 2, 4});
  node.output(0, node.reshaped(v, {n, c * b * b, h, w}));
}

void flatten(NodeImport& node) {
  const View& input = node.input(0);
  int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += input.rank();
  if (axis < 0 || axis > input.rank()) node.reject("axis is out of range");
  int64_t outer = 1;
  int64_t inner = 1;
  for (int d = 0; d < input.rank(); ++d) (d < axis ? outer : inner) *= input.extent(d);
  node.output(0, node.reshaped(input, {outer, inner}));
}

void squeeze(NodeImport& node) {
  View view = node.input(0);
  const auto axes = node.ints(1, "axes", "the axes");
  std::vector<bool> gone(static_cast<size_t>(view.rank()), false);
  for (int d = 0; d < view.rank(); ++d) gone[static_cast<size_t>(d)] = !axes && view.extent(d) == 1;
  for (const int64_t a : axes.value_or(std::vector<int64_t>{})) {
    const int d = node.axis(a, view.rank());
    if (view.extent(d) != 1)
      node.reject(fmt::format("dimension {} has extent {}, expected 1", d, view.extent(d)));
    gone[static_cast<size_t>(d)] = true;
  }
  std::vector<std::vector<IndexId>> dims;
  for (size_t d = 0; d < gone.size(); ++d) {
    if (!gone[d]) dims.push_back(view.dims[d]);
  }
  view.dims = std::move(dims);
  node.output(0, std::move(view));
}

void unsqueeze(NodeImport& node) {
  View view = node.input(0);
  const auto axes = node.ints(1, "axes", "the axes");
  if (!axes) node.reject("the axes are missing");
  const int rank = view.rank() + static_cast<int>(axes->size());
  std::vector<bool> fresh(static_cast<size_t>(rank), false);
  for (const int d : distinct_axes(node, *axes, rank)) fresh[static_cast<size_t>(d)] = true;
  std::vector<std::vector<IndexId>> dims;
  size_t at = 0;
  dims.reserve(fresh.size());
  for (const bool f : fresh) dims.push_back(f ? std::vector<IndexId>{} : view.dims[at++]);
  view.dims = std::move(dims);
  node.output(0, std::move(view));
}

void expand_node(NodeImport& node) {
  View view = node.input(0);
  const auto wanted = node.ints_input(1, "the shape");
  checked_product(node, wanted);
  const auto shape = broadcast_shape({view.shape(), wanted}, "Expand");
  expand(view, shape);
  node.output(0, std::move(view));
}

/// How often each dimension is repeated: below opset 6 a number and the axis that it is for.
std::vector<int64_t> repeats(const NodeImport& node, int rank) {
  std::vector<int64_t> times = node.ints_input(1, "the repeats");
  if (node.opset() >= 6) return times;
  const std::vector<int64_t> axis = node.ints_input(2, "the axis");
  if (times.size() != 1 || axis.size() != 1) node.reject("expected one repeat and one axis");
  std::vector<int64_t> all(static_cast<size_t>(rank), 1);
  all[static_cast<size_t>(node.axis(axis[0], rank))] = times[0];
  return all;
}

void tile_node(NodeImport& node) {
  View view = node.input(0);
  const auto times = repeats(node, view.rank());
  if (static_cast<int>(times.size()) != view.rank())
    node.reject("expected one repeat for each dimension");
  std::vector<int64_t> shape = view.shape();
  for (size_t d = 0; d < times.size(); ++d) {
    if (times[d] < 0)
      node.reject(fmt::format("repeat {} of dimension {} is negative", times[d], d));
    shape[d] = element_count(std::vector<int64_t>{shape[d], times[d]});
  }
  checked_product(node, shape);
  if (element_count(shape) == 0) {
    return node.output_constant(0, constant_values({}, shape, view.type));
  }
  for (size_t d = 0; d < times.size(); ++d) tile(view, static_cast<int>(d), times[d]);
  node.output(0, std::move(view));
}

struct Range {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

/// ONNX's clamping of start:end:step on an extent: numpy's, but that a negative step begins at the
/// first element where the start is before it.
Range clamped(int64_t start, int64_t end, int64_t step, int64_t extent) {
  const auto wrapped = [&](int64_t v) {
    return v < 0 ? (v < -extent ? -1 - extent : v) + extent : v;
  };
  Range r;
  r.step = std::clamp<int64_t>(step, -extent - 1, extent + 1);
  if (step > 0) {
    r.start = std::clamp<int64_t>(wrapped(start), 0, extent);
    const int64_t stop = std::clamp<int64_t>(wrapped(end), 0, extent);
    r.count = ceil_div(std::max<int64_t>(0, stop - r.start), r.step);
  } else {
    r.start = std::min(std::max<int64_t>(wrapped(start), 0), extent - 1);
    const int64_t stop = std::clamp<int64_t>(wrapped(end), -1, extent - 1);
    r.count = ceil_div(std::max<int64_t>(0, r.start - stop), -r.step);
  }
  return r;
}

void slice_node(NodeImport& node) {
  View view = node.input(0);
  const auto starts = node.ints(1, "starts", "the starts");
  const auto ends = node.ints(2, "ends", "the ends");
  if (!starts || !ends || starts->size() != ends->size())
    node.reject("starts and ends differ in length");
  std::vector<int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = node.ints(3, "axes", "the axes")) axes = *given;
  std::vector<int64_t> steps(starts->size(), 1);
  if (node.has_input(4)) steps = node.ints_input(4, "the steps");
  if (axes.size() != starts->size() || steps.size() != starts->size())
    node.reject("axes or steps differ in length from starts");
  const std::vector<int> dims = distinct_axes(node, axes, view.rank());
  for (size_t k = 0; k < dims.size(); ++k) {
    const int d = dims[k];
    if (steps[k] == 0) node.reject("a step is 0");
    const Range r = clamped((*starts)[k], (*ends)[k], steps[k], view.extent(d));
    view = node.sliced(view, d, r.start, r.step, r.count);
  }
  node.output(0, std::move(view));
}

void split(NodeImport& node) {
  const View& input = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), input.rank());
  const int64_t extent = input.extent(axis);
  std::vector<int64_t> sizes;
  if (const auto given = node.ints(1, "split", "the sizes of the parts")) {
    sizes = *given;
  } else {
    const int64_t parts = node.integer("num_outputs", node.output_count());
    if (parts < 1 || parts != node.output_count())
      node.reject("the number of parts differs from the number of outputs");
    if (node.opset() < 18 && extent % parts != 0)
      node.reject(fmt::format("an extent of {} is not {} equal parts", extent, parts));
    const int64_t each = ceil_div(extent, parts);
    for (int64_t p = 0; p < parts; ++p)
      sizes.push_back(std::min(each, std::max<int64_t>(0, extent - p * each)));
  }
  if (static_cast<int>(sizes.size()) != node.output_count()) {
    node.reject(fmt::format("{} sizes for {} outputs, expected one size for each output",
                            sizes.size(), node.output_count()));
  }
  check_parts(node, sizes, extent);
  int64_t at = 0;
  for (size_t p = 0; p < sizes.size(); ++p) {
    if (node.has_output(static_cast<int>(p))) {
      node.output(static_cast<int>(p), node.sliced(input, axis, at, 1, sizes[p]));
    }
    at += sizes[p];
  }
}

constexpr OperatorRow kMovementRows[] = {
    {"DepthToSpace", depth_to_space},
    {"Dropout", dropout, "training"},
    {"Expand", expand_node},
    {"Flatten", flatten},
    {"Identity", identity, "optionals"},
    {"Reshape", reshape_node},
    {"Slice", slice_node},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile_node},
    {"Transpose", transpose_node},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const OperatorRow> movement_operators() {
  return kMovementRows;
}

}  // namespace fuseflow
