// locate: where a coordinate is in the fiber of a stored level.
#include <algorithm>
#include <cmath>

#include "nodes/look_up.h"
#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// The farthest place that is looked up, as far as both executors and the estimate, which add in 64
/// bits, may go; statements are refused at the same distance.
bool reaches_too_far(Typing& t, size_t coordinates) {
  const Node& node = t.node();
  double reach = std::abs(static_cast<double>(node.offset));
  for (size_t i = 1; i <= coordinates; ++i) {
    const int64_t stride = i == 1 ? node.stride : node.strides[i - 2];
    const int loop = t.loop_of_coordinates(i);
    const int64_t extent = loop < 0 ? 1 : std::max<int64_t>(t.extent(loop), 1);
    reach += std::abs(static_cast<double>(stride)) * static_cast<double>(extent);
  }
  return reach > 0x1p62;
}

/// One coordinate, several that are combined (`strides`), or none (a constant subscript).
void type_locate(Typing& t) {
  const Node& node = t.node();
  const size_t coordinates = t.inputs() == 1 ? 0 : 1 + node.strides.size();
  if (!t.counts(1 + coordinates, 1) || !t.refers_to(0, node.level - 1)) return;
  for (size_t i = 1; i <= coordinates; ++i) {
    if (!t.is_kind(i, StreamKind::crd)) return;
  }
  if (reaches_too_far(t, coordinates)) {
    return (void)t.fail("its places exceed 62 bits, expected a smaller offset or smaller strides");
  }
  const int64_t extent = t.tensor().level_extent(node.level);
  const int index = coordinates > 0 ? t.loop_of_coordinates(1) : -1;
  const bool always = t.tensor().format.levels[node.level] == LevelKind::dense && index >= 0 &&
                      extent >= 0 && is_always_inside(node, t.extent(index), extent);
  t.give_ref(0, t.space(0), t.may_be_absent(0) || !always);
}

/// One a token, and in a compressed level one for each further probe.
StepCounts steps_of_locate(const NodeNumbers& n) {
  return {.steps = n.operands().tokens(), .searched = n.own.search_steps};
}

/// The positions of the fiber, and what is probed there.
ByteCounts bytes_of_locate(const NodeNumbers& n) {
  switch (n.level) {
    case LevelKind::dense:
      return {};
    case LevelKind::compressed:
      return {.read = 8 * n.own.present - 4 * n.own.successors + 4 * n.own.probes};
    case LevelKind::bitvector:
      return {.read = 12 * n.own.present};
    case LevelKind::singleton:
      return {.read = 4 * n.own.present};
  }
  return {};
}

}  // namespace

constinit const NodeRule locate_rule = {
    .name = "locate",
    .fields = NodeFields{.tensor = true, .level = true, .offset = true, .stride = true},
    .family = NodeFamily::read,
    .unit = UnitClass::locate,
    .typing = type_locate,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::all_inputs,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps_of_locate,
    .flops = flops::none,
    .bytes = bytes_of_locate,
    .place = place::all_same,
    .exchange = exchanged::kInSpace,
};

}  // namespace fuseflow
