// Fourier transforms as products with constant matrices, and the constants that go with them:
// window functions and the weights of mel bands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/importer.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr int kTime = 1000;  // labels of what is summed over: samples, and real and imaginary parts
constexpr int kPart = 1001;

constexpr int64_t kMaxMatrix = int64_t{1} << 24;  // elements

/// A transform of `samples` samples as if followed by zeros up to `length`, to `bins` numbers.
struct Transform {
  int64_t samples = 0, length = 0, bins = 0;
  int64_t parts = 1;         ///< of a sample: 1 real, 2 real and imaginary
  int64_t result_parts = 2;  ///< of a result
  bool inverse = false;
  bool half_given = false;  ///< inverse: the other half of the samples mirrors the one given
};

/// [part of a sample, sample, bin, part of the result]
ConstantPtr transform_matrix(const NodeImport& node, const Transform& t) {
  const std::vector<int64_t> shape = {t.parts, t.samples, t.bins, t.result_parts};
  if (element_count(shape) > kMaxMatrix)
    node.reject(fmt::format("a transform of {} samples is too long for a matrix", t.length));
  stop_unless_room<float>(element_count(shape));
  std::vector<float> values;
  for (int64_t part = 0; part < t.parts; ++part) {
    for (int64_t n = 0; n < t.samples; ++n) {
      stop_if_asked();
      const bool mirrored = t.half_given && n > 0 && 2 * n != t.length;
      const double scale = (mirrored ? 2.0 : 1.0) / (t.inverse ? static_cast<double>(t.length) : 1);
      for (int64_t k = 0; k < t.bins; ++k) {
        const auto turn = static_cast<double>(n * k % t.length) / static_cast<double>(t.length);
        const double angle = 2 * std::numbers::pi * turn * (t.inverse ? 1 : -1);
        // (re + i im) (cos + i sin)
        for (int64_t to = 0; to < t.result_parts; ++to) {
          const double factor = to == part ? std::cos(angle)
                                : to == 0  ? -std::sin(angle)
                                           : std::sin(angle);
          values.push_back(static_cast<float>(scale * factor));
        }
      }
    }
  }
  return constant_floats(std::move(values), shape);
}

/// A single whole number from input i.
int64_t count_input(const NodeImport& node, int i, const char* role) {
  const auto given = node.ints_input(i, role);
  if (given.size() != 1) node.reject(fmt::format("{} (input {}) is no single number", role, i));
  return given[0];
}

void dft(NodeImport& node) {
  View x = node.input(0);
  const int rank = x.rank();
  if (rank < 2 || x.extent(rank - 1) < 1 || x.extent(rank - 1) > 2) {
    node.reject(
        fmt::format("shape [{}], expected real numbers (1) or complex ones (2) in the last "
                    "dimension",
                    fmt::join(x.shape(), ",")));
  }
  int64_t given = node.opset() < 20 ? node.integer("axis", 1) : -2;
  if (node.opset() >= 20 && node.has_input(2)) given = count_input(node, 2, "the axis");
  const int axis = node.axis(given, rank);
  if (axis == rank - 1) node.reject("the axis is that of real and imaginary parts");
  const bool half = node.integer("onesided", 0) != 0;
  Transform t;
  t.inverse = node.integer("inverse", 0) != 0;
  t.parts = x.extent(rank - 1);
  t.samples = x.extent(axis);
  t.half_given = t.inverse && half;
  t.length = t.half_given ? 2 * (t.samples - 1) : t.samples;
  if (node.has_input(1)) t.length = count_input(node, 1, "the length");
  if (t.length < 1 || t.length > (int64_t{1} << 20))
    node.reject(fmt::format("a transform of length {}, expected 1 to 1048576", t.length));
  const int64_t used = std::min(t.samples, t.half_given ? t.length / 2 + 1 : t.length);
  x = node.sliced(x, axis, 0, 1, used);
  t.samples = used;
  t.bins = half && !t.inverse ? t.length / 2 + 1 : t.length;
  t.result_parts = t.half_given ? 1 : 2;
  const View matrix = derived_constant(node, "matrix", transform_matrix(node, t));
  const std::vector<int> labels = all_labels(rank);
  std::vector<int> from = labels;
  from[static_cast<size_t>(axis)] = kTime;
  from.back() = kPart;
  Kernel k = node.kernel();
  const int m = k.operand(matrix, {kPart, kTime, axis, rank - 1});
  const int o = k.operand(x, from);
  const int32_t product = k.apply(Op::mul, {k.use(m), k.use(o)});
  node.define(0, k.result(labels, k.reduce(Reduction::sum, {kTime, kPart}, product), x.type));
}

/// Transforms of frames that begin at multiples of the step.
void stft(NodeImport& node) {
  const View x = node.simple(node.input(0), "whole");
  if (x.rank() != 3 || x.extent(2) < 1 || x.extent(2) > 2) {
    node.reject(
        fmt::format("a signal of shape [{}], expected batch, samples, and real numbers (1) "
                    "or complex ones (2)",
                    fmt::join(x.shape(), ",")));
  }
  const int64_t step = count_input(node, 1, "the step");
  Transform t;
  if (node.has_input(2)) t.length = node.input(2).size();
  if (node.has_input(3)) t.length = count_input(node, 3, "the length of a frame");
  const bool fits = !node.has_input(2) || node.input(2).shape() == std::vector<int64_t>{t.length};
  if (step < 1 || t.length < 1 || t.length > x.extent(1) || !fits)
    node.reject("the window, the length of a frame and the signal do not fit");
  t.samples = t.length;
  t.parts = x.extent(2);
  t.bins = node.integer("onesided", 1) != 0 ? t.length / 2 + 1 : t.length;
  const int64_t frames = (x.extent(1) - t.length) / step + 1;
  View matrix = derived_constant(node, "matrix", transform_matrix(node, t));
  if (node.has_input(2)) {
    Kernel weighted = node.kernel();
    const int m = weighted.operand(matrix, {0, 1, 2, 3});
    const int w = weighted.operand(node.input(2), {1});
    const int32_t product = weighted.apply(Op::mul, {weighted.use(m), weighted.use(w)});
    matrix = node.helper("windowed", weighted.result(all_labels(4), product, x.type));
  }
  Kernel k = node.kernel();
  k.declare(0, x.extent(0));
  k.declare(1, frames);
  const int m = k.operand(matrix, {kPart, kTime, 2, 3});
  const int32_t factor = k.use(m);
  const auto plus = [&](Subscript& s, int label, int64_t by) {
    if (k.extent(label) > 1) s.terms.emplace_back(k.index(label), by);
  };
  std::vector<Subscript> at(3);
  plus(at[0], 0, 1);
  plus(at[1], 1, step);
  plus(at[1], kTime, 1);
  plus(at[2], kPart, 1);
  const int32_t product = k.apply(Op::mul, {k.use_at(x, at), factor});
  node.define(0,
              k.result(all_labels(4), k.reduce(Reduction::sum, {kTime, kPart}, product), x.type));
}

/// a - b cos(2 pi n / N) + c cos(4 pi n / N)
struct WindowFunction {
  double a, b, c;
};
constexpr WindowFunction kHann = {0.5, 0.5, 0};
constexpr WindowFunction kHamming = {25.0 / 46.0, 21.0 / 46.0, 0};
constexpr WindowFunction kBlackman = {0.42, 0.5, 0.08};

template <const WindowFunction& f>
void window_function(NodeImport& node) {
  const int64_t size = count_input(node, 0, "the size");
  if (size < 0 || size > kMaxFoldedElements)
    node.reject(fmt::format("a window of {} values, expected 0 to {}", size, kMaxFoldedElements));
  const bool periodic = node.integer("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(1, periodic ? size : size - 1));
  auto values = room_for<float>(size);
  for (size_t n = 0; n < values.size(); ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    values[n] = static_cast<float>(f.a - f.b * std::cos(angle) + f.c * std::cos(2 * angle));
  }
  const ElementType type = node.onnx_type(node.integer("output_datatype", 1));
  node.output_constant(0, constant_values(std::move(values), {size}, type));
}

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}

/// The bins where the bands begin, peak and end: band i has those of i, i + 1 and i + 2.
std::vector<int64_t> band_edges(int64_t bands, int64_t length, double rate, double low,
                                double high) {
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double mel = static_cast<double>(i) * step + mel_of(low);
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return edges;
}

/// [bin, band]: triangles between the edges of the bands.
void mel_weight_matrix(NodeImport& node) {
  const int64_t bands = count_input(node, 0, "the number of bands");
  const int64_t length = count_input(node, 1, "the length of the transform");
  const int64_t rate = count_input(node, 2, "the sample rate");
  const auto hertz = [&](int i) {
    const ConstantPtr data = node.constant_input(i, "a frequency");
    if (data->size() != 1) node.reject("a frequency is no single number");
    return static_cast<double>(data->as_float(0));
  };
  const double low = hertz(3), high = hertz(4);
  const int64_t bins = length / 2 + 1;
  const bool sane = bands >= 1 && length >= 1 && rate >= 1 && low >= 0 && high >= low &&
                    bands <= kMaxFoldedElements && length <= kMaxFoldedElements;
  if (!sane || element_count(std::vector<int64_t>{bins, bands}) > kMaxFoldedElements)
    node.reject("the numbers of bands and bins and the frequencies are out of range");
  const auto edges = band_edges(bands, length, static_cast<double>(rate), low, high);
  auto values = room_for<float>(bins * bands);
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t begin = edges[static_cast<size_t>(i)];
    const int64_t peak = edges[static_cast<size_t>(i + 1)];
    const int64_t end = edges[static_cast<size_t>(i + 2)];
    if (std::max(peak, end - 1) >= bins)
      node.reject("a band reaches beyond half of the sample rate");
    const auto set = [&](int64_t bin, int64_t part, int64_t of) {
      values[static_cast<size_t>(bin * bands + i)] =
          static_cast<float>(static_cast<double>(part) / static_cast<double>(of));
    };
    if (begin == peak) set(peak, 1, 1);
    for (int64_t bin = begin; begin < peak && bin <= peak; ++bin)
      set(bin, bin - begin, peak - begin);
    for (int64_t bin = peak; bin < end; ++bin) set(bin, end - bin, end - peak);
  }
  const ElementType type = node.onnx_type(node.integer("output_datatype", 1));
  node.output_constant(0, constant_values(std::move(values), {bins, bands}, type));
}

constexpr OperatorRow kSpectrumRows[] = {
    {"BlackmanWindow", window_function<kBlackman>, "a size that is not constant", ReadAs::constant},
    {"DFT", dft, "a length that is not constant"},
    {"HammingWindow", window_function<kHamming>, "a size that is not constant", ReadAs::constant},
    {"HannWindow", window_function<kHann>, "a size that is not constant", ReadAs::constant},
    {"MelWeightMatrix", mel_weight_matrix, "of numbers that are not constant", ReadAs::constant},
    {"STFT", stft, "steps and lengths that are not constant"},
};

}  // namespace

std::span<const OperatorRow> spectrum_operators() {
  return kSpectrumRows;
}

}  // namespace fuseflow
