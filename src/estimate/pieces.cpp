#include "estimate/pieces.h"

#include <algorithm>
#include <cmath>

#include "nodes/rule.h"

namespace fuseflow::estimate {

/// References within one element of a loop; of the loop -1, all.
double AccessedPieces::passed(StreamId ref, int around) const {
  const double all = counts_.space[static_cast<size_t>(s_.space_of(ref))].elements;
  return around < 0 ? all
                    : all / std::max(1.0, counts_.space[static_cast<size_t>(around)].elements);
}

ArrayPieces AccessedPieces::within(StreamId ref, double unit, double cycles) const {
  int inner = s_.space_of(ref);
  int outer = inner;
  while (outer >= 0 && passed(ref, outer) < cycles) {
    inner = outer;
    outer = s_.info(outer).parent;
  }
  ArrayPieces met = inside(ref, unit, inner);
  const ArrayPieces most = inside(ref, unit, outer);
  // The loop that takes longer is met in part: a share of its pieces.
  const double times = cycles / std::max(1.0, passed(ref, inner));
  const double longer = std::clamp(times, 1.0, std::max(1.0, most.bytes / met.bytes));
  met.bytes *= longer;
  met.number *= std::clamp(times / longer, 1.0, std::max(1.0, most.number / met.number));
  return met;
}

/// What references meet inside of one element of space `around`: rows of rows.
ArrayPieces AccessedPieces::inside(StreamId ref, double unit, int around) const {
  ArrayPieces met{1, unit};
  double row = unit;  // bytes from one position of a level to the next
  while (true) {
    const Column column = s_.canonical[static_cast<size_t>(ref)];
    if (s_.column(column).kind != ColumnInfo::Kind::stream) return met;
    const Node& made = s_.node(s_.graph->streams[static_cast<size_t>(column)].producer);
    if (made.kind == NodeKind::root || made.kind == NodeKind::gallop || made.tensor < 0) return met;
    const Rows rows = rows_met(made, around);
    const bool together = met.number <= 1 && rows.together && row - met.bytes < apart_;
    if (together) {
      met.bytes += (rows.number - 1) * row;
    } else {
      met.number *= rows.number;
    }
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
    const auto level = static_cast<size_t>(made.level);
    row *= tensor.format.levels[level] == LevelKind::dense
               ? static_cast<double>(tensor.level_extent(level))
               : std::max(1.0, length(s_.space_of(made.outputs[0])));
    ref = made.inputs[0].stream;
  }
}

/// The mean length of a fiber of the space.
double AccessedPieces::length(int space) const {
  const SpaceCount& here = counts_.space[static_cast<size_t>(space)];
  return here.elements / std::max(1.0, here.nonempty);
}

/// Positions of a level that a scan or locate gives inside of one element of space `around`.
AccessedPieces::Rows AccessedPieces::rows_met(const Node& made, int around) const {
  const auto inside = [&](int space) { return space != around && s_.around(around, space); };
  if (made.kind == NodeKind::scan) {
    const int space = s_.space_of(made.outputs[0]);
    return {inside(space) ? std::max(1.0, length(space)) : 1, true};
  }
  Rows met;
  for (size_t c = 1; c < made.inputs.size(); ++c) {
    const int home = s_.home(s_.canonical[static_cast<size_t>(made.inputs[c].stream)]);
    if (home < 0 || !inside(home)) continue;
    if (s_.info(home).opening != Opening::counted) {  // by coordinates that are listed
      met.number *= std::max(1.0, length(home));
      met.together = false;
      continue;
    }
    const auto stride = static_cast<double>(c == 1 ? made.stride : made.strides[c - 2]);
    met.number += std::fabs(stride) * static_cast<double>(s_.info(home).extent - 1);
  }
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
  const auto extent = static_cast<double>(tensor.level_extent(static_cast<size_t>(made.level)));
  met.number = std::min(met.number, extent);
  return met;
}

}  // namespace fuseflow::estimate
