#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/html.h"
#include "report/number_text.h"

namespace fuseflow {
namespace {

/// Where a plot has its axes, in pixels.
struct PlotFrame {
  const char* shown;  ///< class: on pages of which width
  double left, top, width, height;
  double right;  ///< room beside the axes
  double full_width() const { return left + width + right; }
  double full_height() const { return top + height + 44; }
};

constexpr PlotFrame kWide = {"wide", 80, 10, 620, 300, 180};
constexpr PlotFrame kNarrow = {"narrow", 62, 22, 290, 250, 20};

/// `draw(frame)` for pages that are wide, and for those that are not.
template <typename Draw>
std::string in_both_widths(const Draw& draw) {
  std::string out;
  for (const PlotFrame& frame : {kWide, kNarrow}) {
    out += fmt::format(
        "<div class=\"{0}\"><svg class=\"chart\" role=\"img\" width=\"{1:.0f}\" "
        "height=\"{2:.0f}\" viewBox=\"0 0 {1:.0f} {2:.0f}\">\n{3}</svg></div>\n",
        frame.shown, frame.full_width(), frame.full_height(), draw(frame));
  }
  return out;
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
    constexpr double kMost = 6;
    const double step = std::max(1.0, std::ceil((high - low) / kMost));
    std::vector<double> exponents;
    for (double e = low; e <= high; e += step) exponents.push_back(e);
    return exponents;
  }
};

std::string axes(const PlotFrame& f, const std::string& x_label, const std::string& y_label) {
  std::string out =
      fmt::format("<rect class=\"grid\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", f.left,
                  f.top, f.width, f.height);
  out += text_at(f.left + f.width / 2, f.top + f.height + 36, "middle", x_label, "soft");
  out += fmt::format(
      "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(14 {:.1f}) "
      "rotate(-90)\">{}</text>\n",
      f.top + f.height / 2, html_text(y_label));
  return out;
}

std::string point_at(const PlotFrame& f, double x, double y, const PlotPoint& point) {
  const bool at_right = x > f.left + 0.7 * f.width && f.right < 100;
  std::string label;
  if (!point.label.empty()) {
    label = text_at(at_right ? x - 7 : x + 7, y + 4, at_right ? "end" : "start", point.label);
  }
  return fmt::format(
             "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
             "r=\"4\"><title>{}</title></circle>\n",
             point.colour, x, y, html_text(point.hint)) +
         label;
}

std::string log_ticks(const PlotFrame& f, const LogAxis& x, const LogAxis& y) {
  std::string out;
  for (const double e : x.ticks()) {
    const double at = f.left + f.width * (e - x.low) / (x.high - x.low);
    out +=
        text_at(at, f.top + f.height + 18, "middle", fmt::format("{:g}", std::pow(10, e)), "soft");
  }
  for (const double e : y.ticks()) {
    const double at = f.top + f.height * (1 - (e - y.low) / (y.high - y.low));
    out += text_at(f.left - 6, at + 4, "end", fmt::format("{:g}", std::pow(10, e)), "soft");
  }
  return out;
}

std::string bar_text(const Bar& bar, double full) {
  std::string parts;
  for (const BarPart& part : bar.parts) {
    parts += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\"></i>", part.colour,
                         100 * std::clamp(part.value / full, 0.0, 1.0));
  }
  return fmt::format("<div title=\"{}\"><b>{}</b><i>{}</i><small>{}</small></div>\n",
                     html_text(bar.hint), html_text(bar.label), parts, html_text(bar.value));
}

}  // namespace

std::string bar_chart(const std::vector<Bar>& bars, double full) {
  std::string out = "<div class=\"bars\">\n";
  for (const Bar& bar : bars) out += bar_text(bar, full);
  return out + "</div>\n";
}

size_t worth_a_bar(const std::vector<double>& values, double all, size_t most) {
  constexpr double kSeen = 0.02, kShare = 0.01;
  if (values.empty()) return 0;
  const double least = std::max(kSeen * values[0], kShare * all);
  size_t count = 1;
  while (count < std::min(most, values.size()) && values[count] >= least) ++count;
  return count;
}

std::string legend(const std::vector<Legend>& entries) {
  std::string out = "<div class=\"legend\">";
  for (const Legend& entry : entries) {
    out += fmt::format("<i class=\"{}\"></i>{}", entry.colour, html_text(entry.label));
  }
  return out + "</div>\n";
}

namespace {

class RooflinePlot {
 public:
  RooflinePlot(const Roofline& roofline) : r_(roofline) {
    for (const PlotPoint& point : r_.points) {
      x_.cover(point.x);
      y_.cover(point.y);
      if (r_.bytes_per_cycle > 0 && r_.flops_per_cycle <= 0) y_.cover(point.x * r_.bytes_per_cycle);
    }
    if (r_.flops_per_cycle <= 0) return;
    y_.cover(r_.flops_per_cycle);
    // The roofs meet in sight.
    if (r_.bytes_per_cycle > 0) x_.cover(r_.flops_per_cycle / r_.bytes_per_cycle);
  }

  std::string draw(const PlotFrame& f) const {
    std::string out = axes(f, "FLOP per byte of memory", "FLOP per cycle") + log_ticks(f, x_, y_);
    if (r_.bytes_per_cycle > 0) out += memory_roof(f);
    if (r_.flops_per_cycle > 0) out += compute_roof(f);
    std::vector<PlacedPoint> placed;
    for (const PlotPoint& point : r_.points) {
      if (!LogAxis::can_show(point.x) || !LogAxis::can_show(point.y)) continue;
      const auto [x, y] = place(f, point.x, point.y);
      place_label(placed, {x, y, point});
    }
    for (const PlacedPoint& one : placed) out += point_at(f, one.x, one.y, one.point);
    return out;
  }

 private:
  struct PlacedPoint {
    double x = 0, y = 0;
    PlotPoint point;
  };

  /// Points that touch have one label for all of them.
  static void place_label(std::vector<PlacedPoint>& placed, PlacedPoint next) {
    constexpr double kTouchX = 16, kTouchY = 11;
    for (PlacedPoint& other : placed) {
      const bool touch =
          std::abs(other.x - next.x) < kTouchX && std::abs(other.y - next.y) < kTouchY;
      if (!touch || other.point.label.empty() || next.point.label.empty()) continue;
      other.point.label += ", " + next.point.label;
      next.point.label.clear();
    }
    placed.push_back(std::move(next));
  }

  std::pair<double, double> place(const PlotFrame& f, double x, double y) const {
    return {f.left + f.width * x_.share(x), f.top + f.height * (1 - y_.share(y))};
  }

  double top() const { return r_.flops_per_cycle > 0 ? r_.flops_per_cycle : std::pow(10, y_.high); }

  std::string memory_roof(const PlotFrame& f) const {
    const double from = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / r_.bytes_per_cycle);
    const double to = std::min(std::pow(10, x_.high), top() / r_.bytes_per_cycle);
    if (from >= to) return "";
    const auto [x1, y1] = place(f, from, from * r_.bytes_per_cycle);
    const auto [x2, y2] = place(f, to, to * r_.bytes_per_cycle);
    return fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", x1, y1, x2,
                       y2) +
           text_at((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 14, "start",
                   fmt::format("memory: {:.4g} bytes/cycle", r_.bytes_per_cycle), "soft");
  }

  std::string compute_roof(const PlotFrame& f) const {
    const double least = std::pow(10, x_.low);
    const double from = r_.bytes_per_cycle > 0 ? top() / r_.bytes_per_cycle : least;
    const auto [x, y] = place(f, std::clamp(from, least, std::pow(10, x_.high)), top());
    return fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", x, y,
                       f.left + f.width) +
           text_at(f.left + f.width - 6, y - 6, "end",
                   fmt::format("compute: {:.3g} FLOP/cycle", top()), "soft");
  }

  const Roofline& r_;
  LogAxis x_{0, 1}, y_{0, 1};
};

std::string steps(const StepChart& chart, const PlotFrame& f) {
  double most_x = std::max(1.0, chart.end);
  double most_y = 1;
  for (const PlotPoint& point : chart.points) most_x = std::max(most_x, point.x);
  for (const auto* points : {&chart.points, &chart.levels}) {
    for (const PlotPoint& point : *points) most_y = std::max(most_y, 1.05 * point.y);
  }
  const auto px = [&](double x) { return f.left + f.width * x / most_x; };
  const auto py = [&](double y) { return f.top + f.height * (1 - y / most_y); };
  std::string out = axes(f, chart.x_label, chart.y_label);
  for (const double share : {0.0, 0.5, 1.0}) {
    out += text_at(px(most_x * share), f.top + f.height + 18, "middle",
                   grouped_number(std::round(most_x * share)), "soft");
    out += text_at(f.left - 6, py(most_y * share) + 4, "end", short_number(most_y * share), "soft");
  }
  for (const PlotPoint& level : chart.levels) {
    out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", f.left, py(level.y),
                       f.left + f.width);
    out += text_at(f.left + f.width - 6, py(level.y) - 5, "end", level.label, "soft");
  }
  std::string path = fmt::format("M{:.1f} {:.1f}", px(chart.points[0].x), py(chart.points[0].y));
  for (size_t i = 1; i < chart.points.size(); ++i) {
    path += fmt::format("H{:.1f}V{:.1f}", px(chart.points[i].x), py(chart.points[i].y));
  }
  out += fmt::format("<path class=\"line\" d=\"{}H{:.1f}\"/>\n", path, f.left + f.width);
  for (const PlotPoint& point : chart.points) out += point_at(f, px(point.x), py(point.y), point);
  return out;
}

}  // namespace

std::string roofline_chart(const Roofline& roofline) {
  if (roofline.points.empty()) return "";
  const RooflinePlot plot(roofline);
  return in_both_widths([&](const PlotFrame& frame) { return plot.draw(frame); });
}

std::string step_chart(const StepChart& chart) {
  if (chart.points.empty()) return "";
  return in_both_widths([&](const PlotFrame& frame) { return steps(chart, frame); });
}

}  // namespace fuseflow
