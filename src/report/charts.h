// Charts as inline SVG. Colours are classes of the page's style (html.cpp): busy, starved, blocked,
// other.
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
  std::string value;  ///< text behind the bar
};

/// Horizontal bars, one below the other; all start at 0. `full`: the value of the full width (> 0).
std::string bar_chart(const std::vector<Bar>& bars, double full);

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

/// Steps downwards: y stays until the next x. `y` starts at 0.
std::string step_chart(const std::vector<PlotPoint>& points, const std::string& x_label,
                       const std::string& y_label);

}  // namespace fuseflow
