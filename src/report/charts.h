// Charts: bars as HTML, which adapts to the width of the page, plots as inline SVG in two widths,
// of which the page shows the one that suits it. Colours are classes of the page's style
// (html.cpp): busy, memory, starved, blocked, other.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

struct BarPart {
  std::string colour;  ///< class
  double value = 0;
};

struct Bar {
  std::string label;
  std::string hint;  ///< shown where the pointer rests
  std::vector<BarPart> parts;
  std::string value;  ///< text after the bar
};

/// Horizontal bars, one below the other; all start at 0. `full`: the value of the full width (> 0).
std::string bar_chart(const std::vector<Bar>& bars, double full);

/// How many of the values, which descend, are worth a bar: those that can be seen beside the first
/// and are at least a hundredth of `all`, but `most` at most, and at least one.
size_t worth_a_bar(const std::vector<double>& values, double all, size_t most);

struct Legend {
  std::string colour, label;
};
std::string legend(const std::vector<Legend>& entries);

struct PlotPoint {
  double x = 0, y = 0;
  std::string label, hint;
  std::string colour = "busy";  ///< class
};

/// FLOP/cycle over FLOP/byte, both logarithmic. A roof of 0 is not drawn.
struct Roofline {
  std::vector<PlotPoint> points;  ///< x: FLOP/byte, y: FLOP/cycle, both > 0
  double bytes_per_cycle = 0;
  double flops_per_cycle = 0;
};
std::string roofline_chart(const Roofline& roofline);

/// Steps: y stays until the next x, in the end up to `end` at least. Both axes start at 0.
struct StepChart {
  std::vector<PlotPoint> points;
  std::vector<PlotPoint> levels;  ///< lines across at `y`, with their labels
  double end = 0;
  std::string x_label, y_label;
};
std::string step_chart(const StepChart& chart);

}  // namespace fuseflow
