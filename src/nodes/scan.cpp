// scan: the fiber of a stored level below each reference; without a tensor it counts.
#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// A scan without a tensor: all coordinates of the loop.
void type_counter(Typing& t) {
  if (t.inputs() != 1 || t.outputs() == 0 || t.outputs() > 2) {
    return (void)t.fail("a counter has one input and gives coordinates and, if used, references");
  }
  const int index = t.is_kind(0, StreamKind::ref) ? t.declared_index(0) : -1;
  if (index < 0) return;
  const int opened = t.may_be_absent(0) ? t.open(t.space(0), index)
                                        : t.open_counted(t.space(0), index, t.extent(index));
  t.give(0, StreamKind::crd, opened);
  if (t.outputs() == 2) t.give_counted_ref(1, opened);
}

/// Scans of dense levels of equal extent open the same space: all coordinates.
void type_scan(Typing& t) {
  const Node& node = t.node();
  if (node.tensor < 0) return type_counter(t);
  if (!t.counts(1, 2) || !t.refers_to(0, node.level - 1)) return;
  const int index = t.declared_index(0);
  if (index < 0) return;
  const int64_t extent = t.tensor().level_extent(node.level);
  const bool all = t.tensor().format.levels[node.level] == LevelKind::dense && extent >= 0 &&
                   node.offset == 0 && extent <= t.extent(index) && !t.may_be_absent(0);
  const int opened = all ? t.open_counted(t.space(0), index, extent) : t.open(t.space(0), index);
  t.give(0, StreamKind::crd, opened);
  t.give_ref(1, opened, false);
}

}  // namespace

constinit const NodeRule scan_rule = {
    .name = "scan",
    .fields = NodeFields{.tensor = true, .tensor_optional = true, .level = true, .offset = true},
    .family = NodeFamily::read,
    .unit = UnitClass::scan,
    .typing = type_scan,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
};

}  // namespace fuseflow
