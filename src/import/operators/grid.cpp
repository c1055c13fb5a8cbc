// GridSample and AffineGrid: elements of an image at computed places. Which elements a place reads
// depends on values, so that each place has a weight for every element of a dimension, nearly all
// of them 0: a tensor that is declared compressed. A constant grid makes constant weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int kGridImage = 700;  // + spatial dimension: of the image

struct GridMethod {
  std::string mode, padding;
  bool aligned = false;
};

GridMethod grid_method(const NodeImport& node) {
  GridMethod m;
  m.mode = node.text("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (m.mode == "bilinear") m.mode = "linear";  // below opset 20
  if (m.mode == "bicubic") m.mode = "cubic";
  if (m.mode != "linear" && m.mode != "nearest" && m.mode != "cubic")
    node.reject(fmt::format("mode '{}', expected linear, nearest or cubic", shown(m.mode)));
  m.padding = node.text("padding_mode", "zeros");
  if (m.padding != "zeros" && m.padding != "border" && m.padding != "reflection")
    node.reject(
        fmt::format("padding_mode '{}', expected zeros, border or reflection", shown(m.padding)));
  if (m.mode == "cubic" && m.padding != "zeros")
    node.reject("mode cubic with another padding_mode than zeros is not supported");
  m.aligned = node.integer("align_corners", 0) != 0;
  return m;
}

/// A place that leaves [low, high] turned back at its ends, as often as it takes.
int32_t reflected(Kernel& k, int32_t place, float low, float high) {
  const float range = high - low;
  if (range <= 0) return k.constant(low);
  // Twice the range is the period: the rest, and its distance to the middle of the period.
  const int32_t from_low = k.apply(Op::sub, {place, k.constant(low)});
  const int32_t rest = k.apply(Op::mod, {from_low, k.constant(2 * range)});
  const int32_t off = k.apply(Op::abs, {k.apply(Op::sub, {rest, k.constant(range)})});
  return k.apply(Op::sub, {k.constant(high), off});
}

/// Where coordinate -1 .. 1 lies among `extent` elements, with a fraction.
int32_t grid_place(Kernel& k, const GridMethod& m, int32_t coordinate, int64_t extent) {
  const auto n = static_cast<float>(extent);
  const int32_t from_zero = k.apply(Op::add, {coordinate, k.constant(1)});
  int32_t place =
      m.aligned
          ? k.apply(Op::mul, {from_zero, k.constant((n - 1) / 2)})
          : k.apply(Op::sub, {k.apply(Op::mul, {from_zero, k.constant(n / 2)}), k.constant(0.5F)});
  if (m.mode == "nearest") place = k.apply(Op::round, {place});
  if (m.padding == "zeros") return place;
  if (m.padding == "reflection")
    place = reflected(k, place, m.aligned ? 0 : -0.5F, m.aligned ? n - 1 : n - 0.5F);
  place = k.apply(Op::max, {place, k.constant(0)});
  return k.apply(Op::min, {place, k.constant(n - 1)});
}

/// Keys' cubic of a distance (the factor -0.75).
int32_t cubic_of(Kernel& k, int32_t distance) {
  const auto polynomial = [&](float c3, float c2, float c1, float c0) {
    int32_t sum = k.constant(c3);
    for (const float c : {c2, c1, c0})
      sum = k.apply(Op::add, {k.apply(Op::mul, {sum, distance}), k.constant(c)});
    return sum;
  };
  const int32_t near = polynomial(1.25F, -2.25F, 0, 1);
  const int32_t far = polynomial(-0.75F, 3.75F, -6, 3);
  const auto below = [&](float bound) { return k.apply(Op::lt, {distance, k.constant(bound)}); };
  const int32_t outer = k.apply(Op::where, {below(2), far, k.constant(0)});
  return k.apply(Op::where, {below(1), near, outer});
}

/// The weight of each element of one dimension at each place: [batch, places.., extent].
View grid_weights(NodeImport& node, const View& grid, int d, int spatial, int64_t extent,
                  const GridMethod& m) {
  const View coordinate =
      node.sliced(grid, grid.rank() - 1, spatial - 1 - d, 1, 1);  // the last dimension is first
  Kernel k = node.kernel();
  std::vector<int> labels = all_labels(grid.rank());
  const int element = kGridImage + d;
  k.declare(element, extent);
  const int at = k.operand(coordinate, labels);
  const int32_t place = grid_place(k, m, k.use(at), extent);
  const int32_t difference = k.apply(Op::sub, {place, k.coordinate(element)});
  int32_t weight = k.apply(Op::abs, {difference});
  if (m.mode == "nearest") {
    weight = k.apply(Op::eq, {difference, k.constant(0)});
  } else if (m.mode == "linear") {
    weight = k.apply(Op::relu, {k.apply(Op::sub, {k.constant(1), weight})});
  } else {
    weight = cubic_of(k, weight);
  }
  labels.back() = element;
  View weights = node.helper(fmt::format("weights{}", d), k.result(labels, weight, grid.type));
  node.importer().mark_selects(weights);
  if (extent > 4) node.importer().mark_thinned(weights);
  return weights;
}

void grid_sample(NodeImport& node) {
  const GridMethod m = grid_method(node);
  const View& x = node.input(0);
  const View& grid = node.input(1);
  const int spatial = x.rank() - 2;
  if (spatial < 1 || grid.rank() != x.rank() || grid.extent(grid.rank() - 1) != spatial ||
      grid.extent(0) != x.extent(0)) {
    node.reject(fmt::format("an image [{}] and a grid [{}] do not fit", fmt::join(x.shape(), ","),
                            fmt::join(grid.shape(), ",")));
  }
  std::vector<View> weights;
  for (int d = 0; d < spatial; ++d)
    weights.push_back(grid_weights(node, grid, d, spatial, x.extent(d + 2), m));
  constexpr int kChannel = 800;
  Kernel k = node.kernel();
  std::vector<int> image = {0, kChannel};
  std::vector<int> summed;
  for (int d = 0; d < spatial; ++d) image.push_back(kGridImage + d);
  for (int d = 0; d < spatial; ++d) summed.push_back(kGridImage + d);
  const int at = k.operand(x, image);
  std::vector<int> factors;
  std::vector<int> result = {0, kChannel};
  for (int d = 1; d <= spatial; ++d) result.push_back(d);
  for (int d = 0; d < spatial; ++d) {
    std::vector<int> labels = all_labels(grid.rank());
    labels.back() = kGridImage + d;
    factors.push_back(k.operand(weights[static_cast<size_t>(d)], labels));
  }
  int32_t root = k.use(at);
  for (const int factor : factors) root = k.apply(Op::mul, {root, k.use(factor)});
  node.define(0, k.result(result, k.reduce(Reduction::sum, summed, root), x.type));
}

/// The places of an image of `size` elements along a dimension, from -1 to 1.
float affine_coordinate(int64_t i, int64_t size, bool aligned) {
  const auto n = static_cast<float>(size);
  const auto at = static_cast<float>(i);
  if (aligned) return size == 1 ? -1 : 2 * at / (n - 1) - 1;
  return (2 * at + 1) / n - 1;
}

/// The product of each place's coordinates (and 1) with the matrix of its batch.
void affine_grid(NodeImport& node) {
  const View& theta = node.input(0);
  const std::vector<int64_t> size = node.ints_input(1, "the size");
  const int spatial = static_cast<int>(size.size()) - 2;
  const bool aligned = node.integer("align_corners", 0) != 0;
  if ((spatial != 2 && spatial != 3) ||
      theta.shape() != std::vector<int64_t>{size[0], spatial, spatial + 1}) {
    node.reject(fmt::format("matrices [{}] for a size [{}] do not fit",
                            fmt::join(theta.shape(), ","), fmt::join(size, ",")));
  }
  std::vector<int64_t> shape(size.begin() + 2, size.end());
  for (const int64_t extent : shape) {
    if (extent < 1) node.reject(fmt::format("an extent of {} in the size", extent));
  }
  shape.push_back(spatial + 1);
  if (element_count(shape) > kMaxFoldedElements) node.reject("the size is too large");
  std::vector<float> places;
  stop_unless_room<float>(element_count(shape));
  std::vector<int64_t> at(static_cast<size_t>(spatial), 0);
  const int64_t count = element_count(shape) / (spatial + 1);
  for (int64_t p = 0; p < count; ++p) {
    int64_t rest = p;
    for (size_t d = at.size(); d-- > 0; rest /= shape[d]) at[d] = rest % shape[d];
    for (size_t d = at.size(); d-- > 0;)
      places.push_back(affine_coordinate(at[d], shape[d], aligned));
    places.push_back(1);
  }
  const View base =
      derived_constant(node, "places", constant_values(std::move(places), shape, theta.type));
  constexpr int kBatch = 10, kRowOf = 11, kColumnOf = 12;
  Kernel k = node.kernel();
  std::vector<int> labels = all_labels(spatial);
  std::vector<int> result = {kBatch};
  result.insert(result.end(), labels.begin(), labels.end());
  result.push_back(kRowOf);
  labels.push_back(kColumnOf);
  const int a = k.operand(base, labels);
  const int b = k.operand(theta, {kBatch, kRowOf, kColumnOf});
  const int32_t product = k.apply(Op::mul, {k.use(a), k.use(b)});
  node.define(0, k.result(result, k.reduce(Reduction::sum, {kColumnOf}, product), theta.type));
}

constexpr OperatorRow kGridRows[] = {
    {"AffineGrid", affine_grid, "a size that is not constant"},
    {"GridSample", grid_sample, "mode cubic with another padding than zeros"},
};

}  // namespace

std::span<const OperatorRow> grid_operators() {
  return kGridRows;
}

}  // namespace fuseflow
