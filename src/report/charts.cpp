#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/number_text.h"

namespace fuseflow {
namespace {

constexpr double kLabelWidth = 300;
constexpr double kBarWidth = 460;
constexpr double kValueWidth = 200;
constexpr double kRow = 22;
constexpr size_t kLabelCharacters = 44;

/// Plots: the area inside of the axes.
constexpr double kLeft = 80, kTop = 10, kWidth = 620, kHeight = 300;

/// The end of a long label says more than its start (names of nested modules).
std::string shortened(const std::string& text) {
  if (text.size() <= kLabelCharacters) return text;
  size_t start = text.size() - kLabelCharacters + 1;
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) ++start;
  return "\u2026" + text.substr(start);
}

std::string svg(double width, double height, const std::string& body) {
  return fmt::format(
      "<div class=\"scroll\"><svg class=\"chart\" role=\"img\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 "
      "{0:.0f} "
      "{1:.0f}\">\n{2}</svg></div>\n",
      width, height, body);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, kind, html_text(text));
}

/// For axes: `3.1M`, `250k`, `12`.
std::string short_number(double value) {
  if (value >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  return value >= 1e4 ? fmt::format("{:.3g}k", value / 1e3) : fmt::format("{:.0f}", value);
}

/// A logarithmic axis that covers values, from a power of ten to a power of ten.
struct LogAxis {
  double low = 0, high = 1;  ///< exponents
  void cover(double value) {
    if (!can_show(value)) return;
    const double exponent = std::log10(value);
    low = std::min(low, std::floor(exponent));
    high = std::max(high, std::ceil(exponent));
  }
  /// Positive and finite: only these have a place.
  static bool can_show(double value) { return std::isfinite(value) && value > 0; }
  double share(double value) const { return (std::log10(value) - low) / (high - low); }
  /// The powers of ten that are labelled, so many that labels do not touch.
  std::vector<double> ticks() const {
    constexpr double kMost = 12;
    const double step = std::max(1.0, std::ceil((high - low) / kMost));
    std::vector<double> exponents;
    for (double e = low; e <= high; e += step) exponents.push_back(e);
    return exponents;
  }
};

std::string axes(const std::string& x_label, const std::string& y_label) {
  std::string out =
      fmt::format("<rect class=\"grid\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft,
                  kTop, kWidth, kHeight);
  out += text_at(kLeft + kWidth / 2, kTop + kHeight + 36, "middle", x_label, "soft");
  out += fmt::format(
      "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(14 {:.1f}) "
      "rotate(-90)\">{}"
      "</text>\n",
      kTop + kHeight / 2, html_text(y_label));
  return out;
}

std::string point_at(double x, double y, const PlotPoint& point) {
  return fmt::format(
             "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
             "r=\"4\"><title>{}</title></circle>\n",
             point.colour, x, y, html_text(point.hint)) +
         (point.label.empty() ? "" : text_at(x + 7, y + 4, "start", shortened(point.label)));
}

std::string log_ticks(const LogAxis& x, const LogAxis& y) {
  std::string out;
  for (const double e : x.ticks()) {
    const double at = kLeft + kWidth * (e - x.low) / (x.high - x.low);
    out += text_at(at, kTop + kHeight + 18, "middle", fmt::format("{:g}", std::pow(10, e)), "soft");
  }
  for (const double e : y.ticks()) {
    const double at = kTop + kHeight * (1 - (e - y.low) / (y.high - y.low));
    out += text_at(kLeft - 6, at + 4, "end", fmt::format("{:g}", std::pow(10, e)), "soft");
  }
  return out;
}

}  // namespace

std::string bar_chart(const std::vector<Bar>& bars, double full) {
  std::string out;
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kRow * static_cast<double>(i);
    double x = kLabelWidth;
    out += fmt::format("<g><title>{}</title>\n", html_text(bar.hint));
    out += text_at(kLabelWidth - 8, y + 15, "end", shortened(bar.label));
    for (const BarPart& part : bar.parts) {
      const double width = kBarWidth * std::clamp(part.value / full, 0.0, 1.0);
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"15\"/>\n",
          part.colour, x, y + 3, width);
      x += width;
    }
    out += text_at(x + 6, y + 15, "start", bar.value, "soft") + "</g>\n";
  }
  return svg(kLabelWidth + kBarWidth + kValueWidth, kRow * static_cast<double>(bars.size()) + 4,
             out);
}

std::string legend(const std::vector<Legend>& entries) {
  std::string out;
  double x = kLabelWidth;
  for (const Legend& entry : entries) {
    out += fmt::format("<rect class=\"{}\" x=\"{:.0f}\" y=\"4\" width=\"12\" height=\"12\"/>\n",
                       entry.colour, x);
    out += text_at(x + 18, 14, "start", entry.label, "soft");
    x += 150;
  }
  return svg(kLabelWidth + kBarWidth + kValueWidth, 22, out);
}

std::string roofline_chart(const Roofline& roofline) {
  if (roofline.points.empty()) return "";
  LogAxis x{0, 1}, y{0, 1};
  for (const PlotPoint& point : roofline.points) {
    x.cover(point.x);
    y.cover(point.y);
    if (roofline.bytes_per_cycle > 0 && roofline.flops_per_cycle <= 0) {
      y.cover(point.x * roofline.bytes_per_cycle);
    }
  }
  if (roofline.flops_per_cycle > 0) {
    y.cover(roofline.flops_per_cycle);
    // The roofs meet in sight.
    if (roofline.bytes_per_cycle > 0) x.cover(roofline.flops_per_cycle / roofline.bytes_per_cycle);
  }
  const auto place = [&](double px, double py) {
    return std::pair(kLeft + kWidth * x.share(px), kTop + kHeight * (1 - y.share(py)));
  };
  std::string out = axes("FLOP per byte of memory", "FLOP per cycle") + log_ticks(x, y);
  const double top = roofline.flops_per_cycle > 0 ? roofline.flops_per_cycle : std::pow(10, y.high);
  if (roofline.bytes_per_cycle > 0) {
    const double from =
        std::max(std::pow(10, x.low), std::pow(10, y.low) / roofline.bytes_per_cycle);
    const double to = std::min(std::pow(10, x.high), top / roofline.bytes_per_cycle);
    if (from < to) {
      const auto [x1, y1] = place(from, from * roofline.bytes_per_cycle);
      const auto [x2, y2] = place(to, to * roofline.bytes_per_cycle);
      out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", x1, y1, x2,
                         y2);
      out += text_at((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 14, "start",
                     fmt::format("memory: {:g} bytes/cycle", roofline.bytes_per_cycle), "soft");
    }
  }
  if (roofline.flops_per_cycle > 0) {
    const double from =
        roofline.bytes_per_cycle > 0 ? top / roofline.bytes_per_cycle : std::pow(10, x.low);
    const auto [x1, y1] = place(std::clamp(from, std::pow(10, x.low), std::pow(10, x.high)), top);
    out +=
        fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", x1, y1, kLeft + kWidth);
    out += text_at(kLeft + kWidth - 6, y1 - 6, "end",
                   fmt::format("compute: {:.3g} FLOP/cycle", top), "soft");
  }
  for (const PlotPoint& point : roofline.points) {
    if (!LogAxis::can_show(point.x) || !LogAxis::can_show(point.y)) continue;
    const auto [px, py] = place(point.x, point.y);
    out += point_at(px, py, point);
  }
  return svg(kLeft + kWidth + 180, kTop + kHeight + 44, out);
}

std::string step_chart(const StepChart& chart) {
  if (chart.points.empty()) return "";
  double most_x = std::max(1.0, chart.end);
  double most_y = 1;
  for (const PlotPoint& point : chart.points) most_x = std::max(most_x, point.x);
  for (const auto* points : {&chart.points, &chart.levels}) {
    for (const PlotPoint& point : *points) most_y = std::max(most_y, 1.05 * point.y);
  }
  const auto px = [&](double x) { return kLeft + kWidth * x / most_x; };
  const auto py = [&](double y) { return kTop + kHeight * (1 - y / most_y); };
  std::string out = axes(chart.x_label, chart.y_label);
  for (const double share : {0.0, 0.5, 1.0}) {
    out += text_at(px(most_x * share), kTop + kHeight + 18, "middle",
                   grouped_number(std::round(most_x * share)), "soft");
    out += text_at(kLeft - 6, py(most_y * share) + 4, "end", short_number(most_y * share), "soft");
  }
  for (const PlotPoint& level : chart.levels) {
    out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, py(level.y),
                       kLeft + kWidth);
    out += text_at(kLeft + kWidth + 6, py(level.y) + 4, "start", level.label, "soft");
  }
  std::string path = fmt::format("M{:.1f} {:.1f}", px(chart.points[0].x), py(chart.points[0].y));
  for (size_t i = 1; i < chart.points.size(); ++i) {
    path += fmt::format("H{:.1f}V{:.1f}", px(chart.points[i].x), py(chart.points[i].y));
  }
  out += fmt::format("<path class=\"line\" d=\"{}H{:.1f}\"/>\n", path, kLeft + kWidth);
  for (const PlotPoint& point : chart.points) out += point_at(px(point.x), py(point.y), point);
  return svg(kLeft + kWidth + 180, kTop + kHeight + 44, out);
}

}  // namespace fuseflow
