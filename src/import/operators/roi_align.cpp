// RoiAlign (average): sums of an image's rows and columns with weights that depend on the regions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// One axis of the regions: their bins, and the image's extent along it.
struct RoiAxis {
  int64_t bins = 1, extent = 1;
  int first = 0, last = 0;  ///< columns of the regions where they begin and end
};

struct RoiForm {
  float scale = 1;
  int64_t samples = 1;  ///< of a bin along an axis
  bool half_pixel = true;
};

/// [region, bin, place]: how much a place counts in a bin: the mean over the bin's samples of a hat
/// around each. Samples beyond the image by more than one place count as 0.
View axis_weights(NodeImport& node, const View& regions, const RoiAxis& axis, const RoiForm& form,
                  const std::string& suffix) {
  const int64_t count = regions.extent(0);
  const auto column = [&](int c) {
    return node.reshaped(node.sliced(regions, 1, c, 1, 1), {count});
  };
  Kernel k = node.kernel();
  k.declare(1, axis.bins);
  k.declare(2, axis.extent);
  const int begin = k.operand(column(axis.first), {0});
  const int end = k.operand(column(axis.last), {0});
  const auto number = [&](double v) { return k.constant(static_cast<float>(v)); };
  const auto scaled = [&](int operand) {
    const int32_t value = k.apply(Op::mul, {k.use(operand), number(form.scale)});
    return form.half_pixel ? k.apply(Op::sub, {value, number(0.5)}) : value;
  };
  int32_t sum = -1;
  for (int64_t s = 0; s < form.samples; ++s) {
    int32_t length = k.apply(Op::sub, {scaled(end), scaled(begin)});
    if (!form.half_pixel) length = k.apply(Op::max, {length, number(1)});
    const double within = (static_cast<double>(s) + 0.5) / static_cast<double>(form.samples);
    const int32_t bin = k.apply(Op::add, {k.coordinate(1), number(within)});
    const int32_t step = k.apply(Op::div, {length, number(static_cast<double>(axis.bins))});
    const int32_t at = k.apply(Op::add, {scaled(begin), k.apply(Op::mul, {bin, step})});
    const auto most = static_cast<double>(axis.extent - 1);
    const int32_t clamped = k.apply(Op::min, {k.apply(Op::max, {at, number(0)}), number(most)});
    const int32_t distance = k.apply(Op::abs, {k.apply(Op::sub, {clamped, k.coordinate(2)})});
    const int32_t hat = k.apply(Op::max, {k.apply(Op::sub, {number(1), distance}), number(0)});
    const int32_t above = k.apply(Op::ge, {at, number(-1)});
    const int32_t below = k.apply(Op::le, {at, number(static_cast<double>(axis.extent))});
    const int32_t near = k.apply(Op::logical_and, {above, below});
    const int32_t weight = k.apply(Op::where, {near, hat, number(0)});
    sum = sum < 0 ? weight : k.apply(Op::add, {sum, weight});
  }
  const int32_t mean = k.apply(Op::div, {sum, number(static_cast<double>(form.samples))});
  const View weights = node.helper(suffix, k.result({0, 1, 2}, mean, regions.type));
  node.importer().mark_selects(weights);
  return weights;
}

void roi_align(NodeImport& node) {
  const View& x = node.input(0);
  const View& regions = node.input(1);
  if (x.rank() != 4 || regions.rank() != 2 || regions.extent(1) != 4)
    node.reject(
        fmt::format("an image of shape [{}] and regions of shape [{}], expected 4 "
                    "dimensions and [regions,4]",
                    fmt::join(x.shape(), ","), fmt::join(regions.shape(), ",")));
  if (node.text("mode", "avg") != "avg") node.reject("mode max is not supported, expected avg");
  RoiForm form;
  const std::string coordinates = node.text("coordinate_transformation_mode",
                                            node.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    node.reject(fmt::format("coordinate_transformation_mode '{}' is unknown", shown(coordinates)));
  form.half_pixel = coordinates == "half_pixel";
  form.scale = node.real("spatial_scale", 1);
  form.samples = node.integer("sampling_ratio", 0);
  if (form.samples < 1 || form.samples > 64) {
    node.reject(
        fmt::format("sampling_ratio {}, expected a number of samples from 1 to 64 (0 "
                    "depends on the values of the regions)",
                    form.samples));
  }
  const RoiAxis rows{node.integer("output_height", 1), x.extent(2), 1, 3};
  const RoiAxis columns{node.integer("output_width", 1), x.extent(3), 0, 2};
  if (rows.bins < 1 || columns.bins < 1 || x.size() == 0 || regions.size() == 0)
    node.reject("expected regions, elements and at least one bin");
  const auto batches =
      checked_indices(node, node.ints_input(2, "the images of the regions"), x.extent(0));
  if (static_cast<int64_t>(batches.size()) != regions.extent(0))
    node.reject("there is not one image for each region");
  const View images = select_elements(node, x, batches, 0);
  const View down = axis_weights(node, regions, rows, form, "rows_weights");
  const View across = axis_weights(node, regions, columns, form, "columns_weights");
  Kernel k = node.kernel();
  constexpr int kHeight = 1000, kWidth = 1001;
  const int a = k.operand(images, {0, 1, kHeight, kWidth});
  const int b = k.operand(down, {0, 2, kHeight});
  const int c = k.operand(across, {0, 3, kWidth});
  const int32_t product = k.apply(Op::mul, {k.apply(Op::mul, {k.use(a), k.use(b)}), k.use(c)});
  node.define(0,
              k.result({0, 1, 2, 3}, k.reduce(Reduction::sum, {kHeight, kWidth}, product), x.type));
}

constexpr OperatorRow kRoiAlignRows[] = {
    {"RoiAlign", roi_align, "mode max; a number of samples that depends on the regions"},
};

}  // namespace

std::span<const OperatorRow> roi_align_operators() {
  return kRoiAlignRows;
}

}  // namespace fuseflow
