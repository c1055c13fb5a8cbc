// scan: the fiber of a stored level below each reference; without a tensor it counts.
#include <algorithm>

#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// Executors and estimate add it to coordinates, and take it from extents, in 64 bits.
constexpr int64_t kFarthestOffset = int64_t{1} << 61;

/// A scan without a tensor: all coordinates of the loop.
void type_counter(Typing& t) {
  if (t.inputs() != 1 || t.outputs() == 0 || t.outputs() > 2) {
    return (void)t.fail("a counter has one input and gives coordinates and, if used, references");
  }
  const int index = t.is_kind(0, StreamKind::ref) ? t.declared_index() : -1;
  if (index < 0) return;
  const int opened = t.may_be_absent(0) ? t.open(t.space(0), index)
                                        : t.open_counted(t.space(0), index, t.extent(index));
  t.give(0, StreamKind::crd, opened);
  if (t.outputs() == 2) t.give_counted_ref(1, opened);
}

/// Scans of dense levels of equal extent open the same space: all coordinates.
void type_scan(Typing& t) {
  const Node& node = t.node();
  if (node.offset > kFarthestOffset || node.offset < -kFarthestOffset) {
    return (void)t.fail("its offset exceeds 61 bits, expected a smaller one");
  }
  if (node.tensor < 0) return type_counter(t);
  if (!t.counts(1, 2) || !t.refers_to(0, node.level - 1)) return;
  const int index = t.declared_index();
  if (index < 0) return;
  const int64_t extent = t.tensor().level_extent(node.level);
  const bool all = t.tensor().format.levels[node.level] == LevelKind::dense && extent >= 0 &&
                   node.offset == 0 && extent <= t.extent(index) && !t.may_be_absent(0);
  const int opened = all ? t.open_counted(t.space(0), index, extent) : t.open(t.space(0), index);
  t.give(0, StreamKind::crd, opened);
  t.give_ref(1, opened, false);
}

void origins_of_scan(const Node& /*node*/, FiberOrigins& origins) {
  origins.stored();
}

void elements_of_scan(const Node& node, const ElementNumbers& numbers, std::span<Elements> out) {
  const double around = numbers.input(0).count;
  const double length = node.tensor < 0 ? numbers.extent(0) : numbers.stored_length();
  std::fill(out.begin(), out.end(), Elements{around * length, around});
}

StepCounts steps_of_scan(const NodeNumbers& n) {
  return {.steps = n.output(0).tokens()};
}

/// Positions of each fiber (one that follows the fiber before has its start already), and what the
/// level stores for its elements.
ByteCounts bytes_of_scan(const NodeNumbers& n) {
  const double elements = n.output(0).elements;
  switch (n.level) {
    case LevelKind::dense:
      return {};
    case LevelKind::compressed:
      return {.read = 8 * n.own.present - 4 * n.own.successors + 4 * elements};
    case LevelKind::bitvector:
      return {.read = 8 * n.own.words + 4 * n.own.present};
    case LevelKind::singleton:
      return {.read = 4 * elements};
  }
  return {};
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
    .join = nullptr,
    .waits = NodeWaits{.selects = false, .looks_ahead = true, .apart = waits::in_step},
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins_of_scan,
    .shaping = shaping::all_inputs,
    .fiber = fiber::not_made,
    .elements = elements_of_scan,
    .steps = steps_of_scan,
    .flops = flops::none,
    .bytes = bytes_of_scan,
    .place = place::anywhere,
    .exchange = exchanged::kExtension,
};

}  // namespace fuseflow
