// Resize and Upsample: along each dimension every place of the result is a weighted sum of places
// of the input. The weights are a constant, a sparse matrix for each dimension that changes; a
// matrix with a single 1 in each row is a selection.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int64_t kMostPlaces = int64_t{1} << 20;  ///< of the result, along a dimension
constexpr double kMostTaps = 1 << 16;              ///< weights of a place

/// How one dimension changes.
struct Resampling {
  int64_t from = 1, to = 1;
  double scale = 1;
  double crop_begin = 0, crop_end = 1;  ///< of tf_crop_and_resize
};

/// What the attributes say, for all dimensions.
struct Method {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
  float extrapolation = 0;
};

/// The place of the input, with a fraction, that stands for place `y` of the result.
double source_place(const Method& method, const Resampling& r, double y) {
  const double width = r.scale * static_cast<double>(r.from);
  const auto last = static_cast<double>(r.from - 1);
  if (method.coordinates == "align_corners") return width == 1 ? 0 : y * last / (width - 1);
  if (method.coordinates == "asymmetric") return y / r.scale;
  if (method.coordinates == "tf_half_pixel_for_nn") return (y + 0.5) / r.scale;
  if (method.coordinates == "pytorch_half_pixel" && r.to == 1) return 0;
  if (method.coordinates == "tf_crop_and_resize") {
    const double part = (r.crop_end - r.crop_begin) * last;
    return r.crop_begin * last + (width == 1 ? part / 2 : y * part / (width - 1));
  }
  const double half = (y + 0.5) / r.scale - 0.5;
  if (method.coordinates != "half_pixel_symmetric") return half;
  return half + static_cast<double>(r.from) / 2 * (1 - static_cast<double>(r.to) / width);
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double linear_weight(double distance) {
  return std::max(0.0, 1 - std::abs(distance));
}

/// A place of the input and its weight.
using Tap = std::pair<int64_t, double>;

/// What definitions below opset 11 leave open, and ONNX's own test of opset 10 shows: up where the
/// dimension shrinks, down where it grows.
constexpr const char* kNearestBefore11 = "by scale";

int64_t nearest_place(const Method& method, const Resampling& r, double x) {
  const double below = std::floor(x);
  const double rest = x - below;
  bool up = rest > 0.5;  // round_prefer_floor
  if (method.nearest == "round_prefer_ceil") up = rest >= 0.5;
  if (method.nearest == "floor") up = false;
  if (method.nearest == "ceil") up = rest > 0;
  if (method.nearest == kNearestBefore11) up = r.scale < 1 && rest > 0;
  return static_cast<int64_t>(below) + (up ? 1 : 0);
}

/// The taps around x, before they are held to the input's extent.
std::vector<Tap> taps_around(const Method& method, const Resampling& r, double x) {
  if (method.mode == "nearest") return {{nearest_place(method, r, x), 1}};
  const bool cubic = method.mode == "cubic";
  const double narrowed = method.antialias ? std::min(r.scale, 1.0) : 1;
  const double reach = (cubic ? 2 : 1) / narrowed;
  std::vector<Tap> taps;
  for (auto i = static_cast<int64_t>(std::floor(x - reach)) + 1; static_cast<double>(i) < x + reach;
       ++i) {
    const double distance = (static_cast<double>(i) - x) * narrowed;
    taps.emplace_back(i, cubic ? cubic_weight(distance, method.cubic_a) : linear_weight(distance));
  }
  return taps;
}

/// The weights of place `y`, by place of the input. What is outside counts as the edge, or not at
/// all.
std::vector<Tap> weights_of(const Method& method, const Resampling& r, int64_t y) {
  std::vector<Tap> taps = taps_around(method, r, source_place(method, r, static_cast<double>(y)));
  const auto outside = [&](const Tap& tap) { return tap.first < 0 || tap.first >= r.from; };
  if (method.exclude_outside) std::erase_if(taps, outside);
  double total = 0;
  for (const Tap& tap : taps) total += tap.second;
  const bool normal = total != 0 && (method.antialias || method.exclude_outside);
  for (Tap& tap : taps) {
    tap.first = std::clamp<int64_t>(tap.first, 0, r.from - 1);
    if (normal) tap.second /= total;
  }
  return taps;
}

/// The place that each place of the result is a copy of; empty if some is none.
std::vector<int64_t> copied_places(const std::vector<std::vector<Tap>>& rows) {
  std::vector<int64_t> places;
  for (const auto& row : rows) {
    int64_t place = -1;
    for (const Tap& tap : row) {
      if (tap.second == 0) continue;
      if (tap.second != 1 || (place >= 0 && place != tap.first)) return {};
      place = tap.first;
    }
    if (place < 0) return {};
    places.push_back(place);
  }
  return places;
}

/// x with dimension `d` resampled.
View resampled(NodeImport& node, const View& x, int d, const Method& method, const Resampling& r) {
  std::vector<std::vector<Tap>> rows;
  for (int64_t y = 0; y < r.to; ++y) rows.push_back(weights_of(method, r, y));
  const std::vector<int64_t> places = copied_places(rows);
  if (!places.empty()) return gathered_elements(node, x, places, d);
  std::vector<std::pair<int64_t, float>> entries;
  for (int64_t y = 0; y < r.to; ++y) {
    std::sort(rows[static_cast<size_t>(y)].begin(), rows[static_cast<size_t>(y)].end());
    double weight = 0;
    const auto& row = rows[static_cast<size_t>(y)];
    for (size_t t = 0; t < row.size(); ++t) {  // taps at one place are one weight
      weight += row[t].second;
      if (t + 1 < row.size() && row[t + 1].first == row[t].first) continue;
      if (weight != 0) entries.emplace_back(y * r.from + row[t].first, static_cast<float>(weight));
      weight = 0;
    }
  }
  const View weights =
      derived_constant(node, fmt::format("weights{}", d),
                       constant_sparse(std::move(entries), {r.to, r.from}, ElementType::f32));
  node.importer().mark_selects(weights);
  Kernel k = node.kernel();
  std::vector<int> from = all_labels(x.rank());
  from[static_cast<size_t>(d)] = kSource;
  const int w = k.operand(weights, {d, kSource});
  const int v = k.operand(x, from);
  const int32_t weight = k.use(w);
  const int32_t value = k.use(v);
  const int32_t root = k.reduce(Reduction::sum, {kSource}, k.apply(Op::mul, {weight, value}));
  return node.helper(fmt::format("along{}", d), k.result(all_labels(x.rank()), root, x.type));
}

/// Places whose source is outside of the input get the extrapolation value (tf_crop_and_resize).
View extrapolated(NodeImport& node, const View& y, const Method& method,
                  const std::vector<Resampling>& dims) {
  std::vector<std::pair<int, View>> insides;
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> inside;
    for (int64_t p = 0; p < dims[d].to; ++p) {
      const double x = source_place(method, dims[d], static_cast<double>(p));
      inside.push_back(x >= 0 && x <= static_cast<double>(dims[d].from - 1) ? 1 : 0);
    }
    if (std::find(inside.begin(), inside.end(), 0) == inside.end()) continue;
    insides.emplace_back(
        static_cast<int>(d),
        derived_constant(node, fmt::format("inside{}", d),
                         constant_ints(std::move(inside), {dims[d].to}, ElementType::boolean)));
  }
  if (insides.empty()) return y;
  Kernel k = node.kernel();
  const int v = k.operand(y, all_labels(y.rank()));
  std::vector<int> masks;
  for (const auto& [d, inside] : insides) masks.push_back(k.operand(inside, {d}));
  int32_t within = -1;
  for (const int mask : masks) {
    const int32_t one = k.use(mask);
    within = within < 0 ? one : k.apply(Op::logical_and, {within, one});
  }
  const int32_t value = k.use(v);
  const int32_t root = k.apply(Op::where, {within, value, k.constant(method.extrapolation)});
  return k.result(all_labels(y.rank()), root, y.type);
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}

Method method_of(const NodeImport& node) {
  Method m;
  const bool old = node.opset() < 11;
  m.mode = node.text("mode", "nearest");
  if (m.mode == "bilinear" && old) m.mode = "linear";  // of Upsample 1
  if (!is_one_of(m.mode, {"nearest", "linear", "cubic"}) || (old && m.mode == "cubic"))
    node.reject(fmt::format("mode '{}', expected nearest, linear or cubic", shown(m.mode)));
  m.coordinates = node.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  const bool tf_half = m.coordinates == "tf_half_pixel_for_nn" && node.opset() < 13;
  if (!tf_half &&
      !is_one_of(m.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                 "align_corners", "asymmetric", "tf_crop_and_resize"})) {
    node.reject(fmt::format("coordinate_transformation_mode '{}' is none of opset {}",
                            shown(m.coordinates), node.opset()));
  }
  m.nearest = node.text("nearest_mode", "round_prefer_floor");
  if (!is_one_of(m.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    node.reject(fmt::format("nearest_mode '{}' is none", shown(m.nearest)));
  if (old) m.nearest = kNearestBefore11;
  m.cubic_a = static_cast<double>(node.real("cubic_coeff_a", -0.75F));
  m.antialias = node.integer("antialias", 0) != 0 && m.mode != "nearest";
  m.exclude_outside = node.integer("exclude_outside", 0) != 0;
  m.extrapolation = node.real("extrapolation_value", 0);
  return m;
}

std::vector<double> numbers_input(const NodeImport& node, int i, const char* role) {
  const ConstantPtr data = node.deciding_input(i, role);
  std::vector<double> values;
  for (int64_t e = 0; e < data->size(); ++e) values.push_back(data->as_float(e));
  return values;
}

int64_t checked_extent(const NodeImport& node, double extent, int d) {
  if (!(extent >= 0) || extent > static_cast<double>(kMostPlaces))
    node.reject(
        fmt::format("dimension {} gets {} elements, expected at most {}", d, extent, kMostPlaces));
  return static_cast<int64_t>(extent);
}

void require_count(const NodeImport& node, size_t given, size_t wanted, const char* what) {
  if (given == wanted) return;
  node.reject(fmt::format("{} {}, expected {}", given, what, wanted));
}

void scale_dimension(const NodeImport& node, Resampling& r, double scale, int d) {
  if (!(scale > 0)) node.reject(fmt::format("scale {} of dimension {} is not positive", scale, d));
  r.scale = scale;
  // In f32, as the scales are: 10 by 0.7 are 7 elements.
  const float extent = std::floor(static_cast<float>(r.from) * static_cast<float>(scale));
  r.to = checked_extent(node, static_cast<double>(extent), d);
}

/// Sizes of the dimensions `axes`, or one scale for all of them that keeps their ratio.
void size_dimensions(const NodeImport& node, std::vector<Resampling>& dims,
                     const std::vector<int>& axes, const std::vector<int64_t>& sizes) {
  require_count(node, sizes.size(), axes.size(), "sizes");
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (!is_one_of(policy, {"stretch", "not_larger", "not_smaller"}))
    node.reject(fmt::format("keep_aspect_ratio_policy '{}' is none", shown(policy)));
  std::vector<double> scales;
  for (size_t a = 0; a < axes.size(); ++a) {
    Resampling& r = dims[static_cast<size_t>(axes[a])];
    if (r.from == 0) node.reject("a dimension without elements cannot be resized");
    r.to = checked_extent(node, static_cast<double>(sizes[a]), axes[a]);
    r.scale = static_cast<double>(r.to) / static_cast<double>(r.from);
    scales.push_back(r.scale);
  }
  if (policy == "stretch" || axes.empty()) return;
  const double scale = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                              : *std::max_element(scales.begin(), scales.end());
  for (const int d : axes) {
    Resampling& r = dims[static_cast<size_t>(d)];
    r.scale = scale;
    r.to = checked_extent(node, std::floor(scale * static_cast<double>(r.from) + 0.5), d);
  }
}

void crop(const NodeImport& node, std::vector<Resampling>& dims, const std::vector<int>& axes) {
  if (!node.has_input(1)) node.reject("tf_crop_and_resize needs a region (input 1, 'roi')");
  const std::vector<double> region = numbers_input(node, 1, "the region");
  require_count(node, region.size(), 2 * axes.size(), "numbers of the region");
  constexpr double kFar = 1e6;  // in extents of the input
  for (const double end : region) {
    if (!(std::abs(end) <= kFar)) node.reject(fmt::format("the region has an end at {}", end));
  }
  for (size_t a = 0; a < axes.size(); ++a) {
    dims[static_cast<size_t>(axes[a])].crop_begin = region[a];
    dims[static_cast<size_t>(axes[a])].crop_end = region[axes.size() + a];
  }
}

/// Resamples every dimension that changes; the largest reductions first, so that the others have
/// less to do.
void resample(NodeImport& node, const Method& method, const std::vector<Resampling>& dims) {
  View y = node.input(0);
  if (ConstantTensor::is_integral(y.type) && method.mode != "nearest")
    node.reject("resampling of integers other than by nearest is not supported; put Casts around");
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Resampling& r = dims[d];
    const bool cropped =
        method.coordinates == "tf_crop_and_resize" && (r.crop_begin != 0 || r.crop_end != 1);
    if (r.to == r.from && r.scale == 1 && !cropped) continue;
    if (r.from == 0 && r.to > 0) node.reject("a dimension without elements cannot be resized");
    if (method.antialias && 4 / std::min(r.scale, 1.0) > kMostTaps)
      node.reject(fmt::format("scale {} of dimension {} is too small", r.scale, d));
    order.push_back(d);
  }
  const auto growth = [&](size_t d) {
    return static_cast<double>(dims[d].to) /
           static_cast<double>(std::max<int64_t>(1, dims[d].from));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return growth(a) < growth(b); });
  for (const size_t d : order) {
    if (y.size() == 0 || dims[d].to == 0)
      y = node.sliced(y, static_cast<int>(d), 0, 1, dims[d].to);
    else
      y = resampled(node, y, static_cast<int>(d), method, dims[d]);
  }
  if (method.coordinates != "tf_crop_and_resize" || y.size() == 0)
    return node.output(0, std::move(y));
  node.output(0, extrapolated(node, y, method, dims));
}

std::vector<Resampling> unchanged(const View& x) {
  std::vector<Resampling> dims(static_cast<size_t>(x.rank()));
  for (int d = 0; d < x.rank(); ++d)
    dims[static_cast<size_t>(d)].from = dims[static_cast<size_t>(d)].to = x.extent(d);
  return dims;
}

/// Whether input i is there and has elements: what is left out was once written as an empty list.
bool is_given(const NodeImport& node, int i) {
  return node.has_input(i) && node.input(i).size() > 0;
}

/// Since opset 11: inputs are the tensor, a region, scales, sizes.
void resize(NodeImport& node) {
  const Method method = method_of(node);
  const View& x = node.input(0);
  std::vector<Resampling> dims = unchanged(x);
  std::vector<int> axes = all_labels(x.rank());
  if (node.has_attribute("axes")) axes = distinct_axes(node, node.integers("axes"), x.rank());
  const int at = node.opset() < 11 ? 1 : 2;
  if (node.opset() >= 11) node.ignore_input(1);  // a region, of one mode only
  const bool by_scale = is_given(node, at);
  if (by_scale == is_given(node, 3)) node.reject("expected either scales or sizes");
  if (by_scale) {
    node.ignore({"keep_aspect_ratio_policy"});
    const std::vector<double> scales = numbers_input(node, at, "the scales");
    require_count(node, scales.size(), axes.size(), "scales");
    for (size_t a = 0; a < axes.size(); ++a)
      scale_dimension(node, dims[static_cast<size_t>(axes[a])], scales[a], axes[a]);
  } else {
    size_dimensions(node, dims, axes, node.ints_input(3, "the sizes"));
  }
  if (method.coordinates == "tf_crop_and_resize") crop(node, dims, axes);
  resample(node, method, dims);
}

/// Scales as an input (9), as a list (7), or of height and width (1).
void upsample(NodeImport& node) {
  const Method method = method_of(node);
  const View& x = node.input(0);
  std::vector<Resampling> dims = unchanged(x);
  std::vector<double> scales;
  if (node.opset() >= 9) {
    scales = numbers_input(node, 1, "the scales");
  } else if (node.opset() >= 7) {
    const OnnxAttribute* given = node.attribute("scales");
    if (given != nullptr) scales.assign(given->floats.begin(), given->floats.end());
  } else {
    scales = {1, 1, static_cast<double>(node.real("height_scale", 1)),
              static_cast<double>(node.real("width_scale", 1))};
  }
  require_count(node, scales.size(), dims.size(), "scales");
  for (size_t d = 0; d < dims.size(); ++d)
    scale_dimension(node, dims[d], scales[d], static_cast<int>(d));
  resample(node, method, dims);
}

constexpr OperatorRow kResizeRows[] = {
    {"Resize", resize, "scales and sizes that are not constant; integers but by nearest"},
    {"Upsample", upsample, "scales that are not constant; integers but by nearest"},
};

}  // namespace

std::span<const OperatorRow> resize_operators() {
  return kResizeRows;
}

}  // namespace fuseflow
