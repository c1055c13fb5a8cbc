// Kernels without products: elements of a tile by the threads that multiply elsewhere, rows by
// warps.
#pragma once

namespace ff {

/// element(row, column) for each of a tile.
template <class Core, class Visit>
FF_FN void each_element(const Core& core, int rows, int columns, Visit element) {
  for (int i = core.thread(); i < rows * columns; i += Core::kThreads)
    element(i / columns, i % columns);
}

/// finish(row, value) once a row, where the value is what `combine` makes of value(row, column).
/// `none` changes nothing: every lane begins with it.
template <class Core, class Value, class Combine, class Finish>
FF_FN void each_row(const Core& core, int rows, int columns, float none, Value value,
                    Combine combine, Finish finish) {
  for (int row = core.warp(); row < rows; row += Core::kWarps) {
    float all = none;
    for (int column = core.lane(); column < columns; column += Core::kLanes)
      all = combine(all, value(row, column));
    all = across_lanes(core, all, combine);
    if (core.lane() == 0) finish(row, all);
  }
}

/// program(row) for each row, by all lanes of a warp.
template <class Core, class Program>
FF_FN void each_whole_row(const Core& core, int rows, Program program) {
  for (int row = core.warp(); row < rows; row += Core::kWarps) program(row);
}

}  // namespace ff
