// ConvTranspose and Col2Im: every element of the input adds its multiple of the kernel to the
// result, at strides. Read from the result: y[o] = sum over i and k with stride * i + dilation * k
// = o + pad of x[i] * w[k]. How a dimension does that depends on its stride:
// - 1: a convolution, i = o + pad - dilation * k;
// - stride s that divides the result's extent: o = s * q + r, and each of the s phases r is a
//   convolution with every s-th weight, from the r-th on: k = r + p + s * t, i = q + c - t where
//   pad = s * c + p;
// - else: the pairs (i, k) that meet at o are a sparse constant.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"
#include "import/operators/window.h"
#include "support/ceil_div.h"

namespace fuseflow {

namespace {

constexpr int kPhase = 400;     // + spatial dimension
constexpr int kSourceAt = 500;  // of the input

/// One spatial dimension.
struct Spread {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, pad = 0, output = 1;
  enum class Form { convolution, phases, pairs } form = Form::convolution;
  // of phases:
  int64_t whole_pads = 0, rest = 0;  ///< pad = stride * whole_pads + rest
  int64_t first_tap = 0, taps = 1;   ///< of each phase
};

std::vector<int64_t> output_extents(const NodeImport& node, size_t n) {
  const std::vector<int64_t> given = node.integers("output_shape");
  if (given.empty() || given.size() == n) return given;
  if (given.size() == n + 2) return {given.begin() + 2, given.end()};  // as once written
  node.reject(fmt::format("attribute 'output_shape' has {} entries, expected {}", given.size(), n));
}

Spread::Form form_of(const Spread& s) {
  const bool flat = s.input == 1 || s.kernel == 1;  // a subscript that goes nowhere
  if (flat) return Spread::Form::pairs;
  if (s.stride == 1) return Spread::Form::convolution;
  const bool even = s.dilation == 1 && s.output % s.stride == 0;
  return even ? Spread::Form::phases : Spread::Form::pairs;
}

std::vector<Spread> spreads_of(const NodeImport& node, const View& x,
                               const std::vector<int64_t>& kernel) {
  const size_t n = kernel.size();
  const auto strides = window_list(node, "strides", n, 1, 1);
  const auto dilations = window_list(node, "dilations", n, 1, 1);
  const auto pads = window_list(node, "pads", 2 * n, 0, 0);
  const auto added = window_list(node, "output_padding", n, 0, 0);
  const std::string automatic = automatic_padding(node);
  const std::vector<int64_t> wanted = output_extents(node, n);
  std::vector<Spread> result;
  for (size_t d = 0; d < n; ++d) {
    Spread s{x.extent(static_cast<int>(d) + 2), kernel[d], strides[d], dilations[d]};
    if (s.kernel < 1 || s.kernel > kMaxWindow || s.input < 1)
      node.reject("an extent of the kernel or the input is out of range");
    const bool same = automatic.starts_with("SAME_");
    const int64_t all = s.stride * (s.input - 1) + added[d] + (s.kernel - 1) * s.dilation + 1;
    int64_t before = automatic == "NOTSET" ? pads[d] : 0;
    s.output = all - before - (automatic == "NOTSET" ? pads[n + d] : 0);
    if (!wanted.empty() && (wanted[d] < 1 || wanted[d] > kMaxWindow))
      node.reject(fmt::format("attribute 'output_shape' has the entry {}", wanted[d]));
    if (!wanted.empty() || same) {
      s.output = wanted.empty() ? s.input * s.stride : wanted[d];
      const int64_t total = std::max<int64_t>(0, all - s.output);
      // An odd rest. Below opset 11 it is at the other end of what 'output_shape' asks for.
      const bool at_end = (automatic == "SAME_UPPER") != (!wanted.empty() && node.opset() < 11);
      before = at_end ? total / 2 : total - total / 2;
    }
    if (s.output < 1 || s.output > kMaxWindow)
      node.reject(fmt::format("spatial dimension {} gets {} elements", d, s.output));
    s.pad = before;
    s.form = form_of(s);
    s.whole_pads = s.pad / s.stride;
    s.rest = s.pad % s.stride;
    s.first_tap = s.rest > 0 ? -1 : 0;
    s.taps = (s.kernel - 1 >= s.rest ? (s.kernel - 1 - s.rest) / s.stride : -1) - s.first_tap + 1;
    s.taps = std::max<int64_t>(1, s.taps);
    result.push_back(s);
  }
  return result;
}

/// 1 where input i and weight k meet at o.
ConstantPtr meeting_pairs(const NodeImport& node, const Spread& s) {
  constexpr int64_t kMostPairs = int64_t{1} << 24;
  if (s.input > kMostPairs / s.kernel) {
    node.reject(fmt::format("{} elements by {} weights along a dimension, expected at most {}",
                            s.input, s.kernel, kMostPairs));
  }
  std::vector<std::pair<int64_t, float>> entries;
  stop_unless_room<std::pair<int64_t, float>>(s.input * s.kernel);
  for (int64_t i = 0; i < s.input; ++i) {
    for (int64_t k = 0; k < s.kernel; ++k) {
      const int64_t o = s.stride * i + s.dilation * k - s.pad;
      if (o >= 0 && o < s.output) entries.emplace_back((o * s.input + i) * s.kernel + k, 1.0F);
    }
  }
  return constant_sparse(std::move(entries), {s.output, s.input, s.kernel}, ElementType::boolean);
}

/// The weights with the kernel's extents of phases as [phase, tap]; 0 where there is no weight.
View by_phase(NodeImport& node, const View& weights, const std::vector<Spread>& spreads) {
  bool any = false;
  for (const Spread& s : spreads) any = any || s.form == Spread::Form::phases;
  if (!any) return weights;
  const View w = node.whole(weights, "weights");
  Kernel k = node.kernel();
  std::vector<int> labels = {0, 1};
  k.declare(0, w.extent(0));
  k.declare(1, w.extent(1));
  for (size_t d = 0; d < spreads.size(); ++d) {
    const Spread& s = spreads[d];
    const bool phases = s.form == Spread::Form::phases;
    k.declare(kKernel + static_cast<int>(d), phases ? s.taps : s.kernel);
    if (phases) k.declare(kPhase + static_cast<int>(d), s.stride);
    if (phases) labels.push_back(kPhase + static_cast<int>(d));
    labels.push_back(kKernel + static_cast<int>(d));
  }
  std::vector<Subscript> at = {label_subscript(k, 0, w.extent(0)),
                               label_subscript(k, 1, w.extent(1))};
  for (size_t d = 0; d < spreads.size(); ++d) {
    const Spread& s = spreads[d];
    const int tap = kKernel + static_cast<int>(d);
    if (s.form != Spread::Form::phases) {
      at.push_back(label_subscript(k, tap, s.kernel));
      continue;
    }
    Subscript subscript{{{k.index(kPhase + static_cast<int>(d)), 1}},
                        s.rest + s.stride * s.first_tap};
    if (s.taps > 1) subscript.terms.emplace_back(k.index(tap), s.stride);
    at.push_back(std::move(subscript));
  }
  const int32_t root = k.use_at(w, at);
  return node.helper("phases", k.result(labels, root, w.type));
}

/// The subscript of the input along a dimension.
Subscript source_subscript(Kernel& k, const Spread& s, int d) {
  if (s.form == Spread::Form::pairs) return label_subscript(k, kSourceAt + d, s.input);
  const bool phases = s.form == Spread::Form::phases;
  Subscript at;
  const int64_t positions = phases ? s.output / s.stride : s.output;
  if (positions > 1) at.terms.emplace_back(k.index(kOutput + d), 1);
  if ((phases ? s.taps : s.kernel) > 1)
    at.terms.emplace_back(k.index(kKernel + d), phases ? -1 : -s.dilation);
  at.offset = phases ? s.whole_pads - s.first_tap : s.pad;
  return at;
}

void conv_transpose(NodeImport& node) {
  const View x = node.whole(node.input(0), "input");
  const View& weights = node.input(1);
  if (x.rank() < 3 || weights.rank() != x.rank())
    node.reject("expected an input [N,C,...] and weights [C,M/group,...]");
  const int64_t groups = node.integer("group", 1);
  const int64_t channels = x.extent(1);
  if (groups < 1 || channels % groups != 0 || weights.extent(0) != channels) {
    node.reject(fmt::format("{} channels, weights of shape [{}] and {} groups do not fit", channels,
                            fmt::join(weights.shape(), ","), groups));
  }
  const int64_t in = channels / groups;
  const int64_t out = weights.extent(1);
  const std::vector<Spread> spreads = spreads_of(node, x, kernel_extents(node, weights));
  const View phased = by_phase(node, weights, spreads);
  std::vector<int64_t> grouped = phased.shape();
  grouped[0] = in;
  grouped.insert(grouped.begin(), groups);
  const View split = node.reshaped(phased, grouped);

  Kernel k = node.kernel();
  k.declare(0, x.extent(0));
  k.declare(kGroup, groups);
  k.declare(kIn, in);
  std::vector<int> weight_labels = {kGroup, kIn, kOut};
  std::vector<int> labels = {0, kGroup, kOut};
  std::vector<int> summed = {kIn};
  std::vector<int> meetings;
  std::vector<int64_t> shape = {x.extent(0), groups * out};
  for (size_t i = 0; i < spreads.size(); ++i) {
    const Spread& s = spreads[i];
    const auto d = static_cast<int>(i);
    const bool phases = s.form == Spread::Form::phases;
    k.declare(kOutput + d, phases ? s.output / s.stride : s.output);
    k.declare(kKernel + d, phases ? s.taps : s.kernel);
    labels.push_back(kOutput + d);
    summed.push_back(kKernel + d);
    if (phases) {
      k.declare(kPhase + d, s.stride);
      labels.push_back(kPhase + d);
      weight_labels.push_back(kPhase + d);
    }
    weight_labels.push_back(kKernel + d);
    shape.push_back(s.output);
    if (s.form != Spread::Form::pairs) continue;
    k.declare(kSourceAt + d, s.input);
    summed.push_back(kSourceAt + d);
    const View pairs = derived_constant(node, fmt::format("pairs{}", d), meeting_pairs(node, s));
    meetings.push_back(k.operand(pairs, {kOutput + d, kSourceAt + d, kKernel + d}));
  }
  const int w = k.operand(split, weight_labels);
  const int b = node.has_input(2)
                    ? k.operand(node.reshaped(node.input(2), {groups, out}), {kGroup, kOut})
                    : -1;
  std::vector<Subscript> at = {label_subscript(k, 0, x.extent(0)), Subscript{}};
  if (groups > 1) at[1].terms.emplace_back(k.index(kGroup), in);
  if (in > 1) at[1].terms.emplace_back(k.index(kIn), 1);
  for (size_t d = 0; d < spreads.size(); ++d)
    at.push_back(source_subscript(k, spreads[d], static_cast<int>(d)));
  const int32_t value = k.use_at(x, at);
  int32_t root = k.apply(Op::mul, {value, k.use(w)});
  for (const int meeting : meetings)
    root = k.apply(Op::where, {k.use(meeting), root, k.constant(0)});
  root = k.reduce(Reduction::sum, summed, root);
  if (b >= 0) root = k.apply(Op::add, {root, k.use(b)});
  node.define_reshaped(0, k.result(labels, root, x.type), shape);
}

/// Columns [N, C * blocks, places] back to an image: each element of a block is added at its place.
void col2im(NodeImport& node) {
  const View& x = node.input(0);
  const std::vector<int64_t> image = node.ints_input(1, "the shape of the image");
  const std::vector<int64_t> block = node.ints_input(2, "the shape of the blocks");
  const size_t n = image.size();
  if (n == 0 || block.size() != n || x.rank() != 3)
    node.reject("expected columns [N,C,L], and an extent of image and block for each dimension");
  const auto strides = window_list(node, "strides", n, 1, 1);
  const auto dilations = window_list(node, "dilations", n, 1, 1);
  const auto pads = window_list(node, "pads", 2 * n, 0, 0);
  std::vector<Spread> spreads;
  int64_t elements = 1;
  int64_t places = 1;
  for (size_t d = 0; d < n; ++d) {
    const bool fits =
        block[d] >= 1 && block[d] <= kMaxWindow && image[d] >= 1 && image[d] <= kMaxWindow;
    const int64_t room =
        fits ? image[d] + pads[d] + pads[n + d] - dilations[d] * (block[d] - 1) - 1 : -1;
    if (room < 0) node.reject(fmt::format("a block of {} in an image of {}", block[d], image[d]));
    spreads.push_back({room / strides[d] + 1, block[d], strides[d], dilations[d], pads[d], image[d],
                       Spread::Form::pairs});
    elements = element_count(std::vector<int64_t>{elements, block[d]});
    places = element_count(std::vector<int64_t>{places, spreads.back().input});
  }
  if (x.extent(1) % elements != 0 || x.extent(2) != places) {
    node.reject(fmt::format("columns [{}], expected a multiple of {} channels and {} places",
                            fmt::join(x.shape(), ","), elements, places));
  }
  std::vector<int64_t> split = {x.extent(0), x.extent(1) / elements};
  std::vector<int64_t> shape = split;
  std::vector<int> labels = {0, kOut};
  std::vector<int> result = labels;
  std::vector<int> summed;
  for (size_t d = 0; d < n; ++d) split.push_back(spreads[d].kernel);
  for (size_t d = 0; d < n; ++d) split.push_back(spreads[d].input);
  for (const int first : {kKernel, kSourceAt}) {
    const std::vector<int> each = spatial_labels(first, n);
    labels.insert(labels.end(), each.begin(), each.end());
    summed.insert(summed.end(), each.begin(), each.end());
  }
  Kernel k = node.kernel();
  const int columns = k.operand(node.reshaped(x, split), labels);
  std::vector<int> meetings;
  for (size_t i = 0; i < n; ++i) {
    const auto d = static_cast<int>(i);
    const View pairs =
        derived_constant(node, fmt::format("pairs{}", d), meeting_pairs(node, spreads[i]));
    meetings.push_back(k.operand(pairs, {kOutput + d, kSourceAt + d, kKernel + d}));
    result.push_back(kOutput + d);
    shape.push_back(spreads[i].output);
  }
  int32_t root = k.use(columns);
  for (const int meeting : meetings)
    root = k.apply(Op::where, {k.use(meeting), root, k.constant(0)});
  root = k.reduce(Reduction::sum, summed, root);
  node.define_reshaped(0, k.result(result, root, x.type), shape);
}

constexpr OperatorRow kConvTransposeRows[] = {
    {"Col2Im", col2im, "shapes that are not constant"},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

std::span<const OperatorRow> conv_transpose_operators() {
  return kConvTransposeRows;
}

}  // namespace fuseflow
