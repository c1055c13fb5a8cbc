// Results whose shape depends on values: Unique and NonMaxSuppression, of constants and of bound
// data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "import/importer.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// The slices of a constant along a dimension; without one, its elements.
class Slices {
 public:
  Slices(const ConstantTensor& data, int axis) : data_(data) {
    if (axis < 0) {
      count_ = data.size();
      return;
    }
    count_ = data.shape[static_cast<size_t>(axis)];
    for (size_t d = 0; d < data.shape.size(); ++d) {
      if (static_cast<int>(d) < axis) outer_ *= data.shape[d];
      if (static_cast<int>(d) > axis) inner_ *= data.shape[d];
    }
  }

  int64_t count() const { return count_; }
  int64_t elements() const { return outer_ * inner_; }

  /// Where element e of slice s is.
  int64_t place(int64_t s, int64_t e) const {
    return (e / inner_ * count_ + s) * inner_ + e % inner_;
  }

  /// < 0, 0, > 0: in the order of their elements; NaN comes last.
  int compared(int64_t a, int64_t b) const {
    for (int64_t e = 0; e < elements(); ++e) {
      const int order = compared_elements(place(a, e), place(b, e));
      if (order != 0) return order;
    }
    return 0;
  }

 private:
  int compared_elements(int64_t a, int64_t b) const {
    if (data_.integral()) {
      const int64_t x = data_.as_int(a), y = data_.as_int(b);
      return (x > y) - (x < y);
    }
    const float x = data_.as_float(a), y = data_.as_float(b);
    if (std::isnan(x) || std::isnan(y))
      return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
    return (x > y) - (x < y);
  }

  const ConstantTensor& data_;
  int64_t count_ = 0, outer_ = 1, inner_ = 1;
};

/// Equal slices as one: the first of each, how many there are, and which each slice is.
struct UniqueSlices {
  std::vector<int64_t> first, counts, group;

  UniqueSlices(const Slices& slices, bool sorted) : group(static_cast<size_t>(slices.count())) {
    std::vector<int64_t> order(group.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return slices.compared(a, b) < 0; });
    for (const int64_t s : order) {
      if (first.empty() || slices.compared(first.back(), s) != 0) {
        first.push_back(s);
        counts.push_back(0);
      }
      ++counts.back();
      group[static_cast<size_t>(s)] = static_cast<int64_t>(first.size()) - 1;
    }
    if (!sorted) in_order_of_appearance();
  }

 private:
  void in_order_of_appearance() {
    std::vector<size_t> order(first.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
    std::vector<int64_t> new_first, new_counts, moved(first.size());
    for (const size_t g : order) {
      moved[g] = static_cast<int64_t>(new_first.size());
      new_first.push_back(first[g]);
      new_counts.push_back(counts[g]);
    }
    for (int64_t& g : group) g = moved[static_cast<size_t>(g)];
    first = std::move(new_first);
    counts = std::move(new_counts);
  }
};

/// Slices `chosen` of the constant, in the shape of the result.
ConstantPtr chosen_slices(const ConstantTensor& data, const Slices& slices, int axis,
                          const std::vector<int64_t>& chosen) {
  std::vector<int64_t> shape = data.shape;
  const auto count = static_cast<int64_t>(chosen.size());
  if (axis < 0)
    shape = {count};
  else
    shape[static_cast<size_t>(axis)] = count;
  const int64_t inner = axis < 0 ? 1
                                 : std::accumulate(shape.begin() + axis + 1, shape.end(),
                                                   int64_t{1}, std::multiplies<>());
  auto places = room_for<int64_t>(element_count(shape));
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t e = 0; e < slices.elements(); ++e) {
      const int64_t to = (e / inner * count + c) * inner + e % inner;
      places[static_cast<size_t>(to)] = slices.place(chosen[static_cast<size_t>(c)], e);
    }
  }
  if (data.integral()) {
    for (int64_t& p : places) p = data.as_int(p);
    return constant_ints(std::move(places), std::move(shape), data.type);
  }
  std::vector<float> values;
  for (const int64_t p : places) values.push_back(data.as_float(p));
  return constant_floats(std::move(values), std::move(shape), data.type);
}

void unique(NodeImport& node) {
  const ConstantPtr data = node.deciding_input(0, "the tensor");
  const int axis = node.has_attribute("axis")
                       ? node.axis(node.integer("axis", 0), static_cast<int>(data->shape.size()))
                       : -1;
  const Slices slices(*data, axis);
  const UniqueSlices found(slices, node.integer("sorted", 1) != 0);
  node.output_constant(0, chosen_slices(*data, slices, axis, found.first));
  const std::array<const std::vector<int64_t>*, 3> lists = {&found.first, &found.group,
                                                            &found.counts};
  for (int i = 0; i < 3; ++i) {
    const std::vector<int64_t>& list = *lists[static_cast<size_t>(i)];
    if (node.has_output(i + 1))
      node.output_constant(i + 1, constant_ints(list, {static_cast<int64_t>(list.size())}));
  }
}

/// The corners of a box, the lower ones first.
struct Box {
  float y0 = 0, x0 = 0, y1 = 0, x1 = 0;

  Box(const ConstantTensor& boxes, int64_t at, bool centered) {
    const float a = boxes.as_float(at), b = boxes.as_float(at + 1);
    const float c = boxes.as_float(at + 2), d = boxes.as_float(at + 3);
    if (centered) {  // x, y, width, height
      x0 = a - c / 2, x1 = a + c / 2, y0 = b - d / 2, y1 = b + d / 2;
    } else {  // two opposite corners
      y0 = std::min(a, c), y1 = std::max(a, c), x0 = std::min(b, d), x1 = std::max(b, d);
    }
  }

  float area() const { return (y1 - y0) * (x1 - x0); }
};

/// The intersection of two boxes over their union.
float overlap(const Box& a, const Box& b) {
  const float height = std::max(0.0F, std::min(a.y1, b.y1) - std::max(a.y0, b.y0));
  const float width = std::max(0.0F, std::min(a.x1, b.x1) - std::max(a.x0, b.x0));
  const float both = height * width;
  const float all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

/// A single number from input i.
float number_input(const NodeImport& node, int i, const char* role, float otherwise) {
  if (!node.has_input(i)) return otherwise;
  const ConstantPtr data = node.deciding_input(i, role);
  if (data->size() != 1) node.reject(fmt::format("{} (input {}) is no single number", role, i));
  return data->as_float(0);
}

/// [batch, class, box] of the boxes that no better one of their class overlaps too much.
void non_max_suppression(NodeImport& node) {
  const ConstantPtr boxes = node.deciding_input(0, "the boxes");
  const ConstantPtr scores = node.deciding_input(1, "the scores");
  const auto& shape = scores->shape;
  if (shape.size() != 3 || boxes->shape != std::vector<int64_t>{shape[0], shape[2], 4}) {
    node.reject(fmt::format("boxes of shape [{}] do not fit scores of shape [{}]",
                            fmt::join(boxes->shape, ","), fmt::join(shape, ",")));
  }
  const float most = number_input(node, 2, "the number of boxes", 0);
  const float allowed = number_input(node, 3, "the overlap", 0);
  const bool has_least = node.has_input(4);
  const float least = number_input(node, 4, "the least score", 0);
  const bool centered = node.integer("center_point_box", 0) != 0;
  const int64_t count = shape[2];
  const double pairs = static_cast<double>(shape[0] * shape[1]) * static_cast<double>(count) *
                       std::min<double>(std::max(0.0F, most), static_cast<double>(count));
  if (pairs > static_cast<double>(int64_t{1} << 28))
    node.reject("there are too many pairs of boxes, expected at most 2^28");
  std::vector<int64_t> result;
  for (int64_t group = 0; group < shape[0] * shape[1]; ++group) {
    const int64_t batch = group / shape[1];
    const auto score = [&](int64_t box) { return scores->as_float(group * count + box); };
    const auto corners = [&](int64_t box) {
      return Box(*boxes, (batch * count + box) * 4, centered);
    };
    std::vector<int64_t> open;
    for (int64_t b = 0; b < count; ++b) {
      if (!has_least || score(b) > least) open.push_back(b);
    }
    std::stable_sort(open.begin(), open.end(),
                     [&](int64_t a, int64_t b) { return score(a) > score(b); });
    std::vector<int64_t> kept;
    for (const int64_t b : open) {
      if (static_cast<float>(kept.size()) >= most) break;
      const bool hidden = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
        return overlap(corners(b), corners(other)) > allowed;
      });
      if (hidden) continue;
      kept.push_back(b);
      result.insert(result.end(), {batch, group % shape[1], b});
    }
  }
  const auto rows = static_cast<int64_t>(result.size()) / 3;
  node.output_constant(0, constant_ints(std::move(result), {rows, 3}));
}

constexpr OperatorRow kValueShapesRows[] = {
    {"NonMaxSuppression", non_max_suppression, "of values that the program computes",
     ReadAs::constant},
    {"Unique", unique, "of values that the program computes", ReadAs::constant},
};

}  // namespace

std::span<const OperatorRow> value_shapes_operators() {
  return kValueShapesRows;
}

}  // namespace fuseflow
