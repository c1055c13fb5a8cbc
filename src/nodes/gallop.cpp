// gallop: the coordinates that two compressed levels have both, each searched from where the last
// search in it ended. One node reads both levels, so that its steps depend on data alone.
#include <fmt/format.h>

#include <algorithm>

#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// Coordinates of a fiber ascend: each is there once, so not with a run of tuples for each.
bool is_sorted_list(const Format& format, int level) {
  const auto l = static_cast<size_t>(level);
  const bool tuples = l + 1 < format.levels.size() && format.levels[l + 1] == LevelKind::singleton;
  return format.levels[l] == LevelKind::compressed && !tuples;
}

bool check_level(Typing& t, TensorId id, int level, int index) {
  const GraphTensor& tensor = t.tensor(id);
  if (!is_sorted_list(tensor.format, level)) {
    const LevelKind kind = tensor.format.levels[level];
    return t.fail(fmt::format("%{}.{} is a {} level{}, expected a compressed one without tuples",
                              tensor.name, level, level_name(kind),
                              kind == LevelKind::compressed ? " with tuples below it" : ""));
  }
  const int64_t extent = tensor.level_extent(level);
  if (extent < 0 || extent <= t.extent(index)) return true;
  return t.fail(fmt::format("%{}.{} has extent {}, expected at most that of the loop, {}",
                            tensor.name, level, extent, t.extent(index)));
}

void type_gallop(Typing& t) {
  const Node& node = t.node();
  if (!t.counts(2, 3) || !t.refers_to(0, node.tensor, node.level - 1) ||
      !t.refers_to(1, node.other_tensor, node.other_level - 1)) {
    return;
  }
  const int index = t.declared_index();
  if (index < 0 || !check_level(t, node.tensor, node.level, index) ||
      !check_level(t, node.other_tensor, node.other_level, index)) {
    return;
  }
  const int opened = t.open(t.space(0), index);
  t.give(0, StreamKind::crd, opened);
  t.give_ref(1, node.tensor, node.level, opened, false);
  t.give_ref(2, node.other_tensor, node.other_level, opened, false);
}

/// The levels are independent: a coordinate is in one with probability length / whole.
Fiber fiber_of_gallop(const Node& /*node*/, FiberNumbers& numbers, int /*loop*/) {
  const double whole = numbers.whole();
  if (whole <= 0) return {};
  const auto chance = [&](size_t i) { return std::min(1.0, numbers.stored(i).length / whole); };
  return expected_fiber(whole * chance(0) * chance(1), whole);
}

void elements_of_gallop(const Node& /*node*/, const ElementNumbers& numbers,
                        std::span<Elements> out) {
  const double around = numbers.input(0).count;
  const double whole = std::max(1.0, numbers.extent(0));
  const auto chance = [&](size_t i) { return std::min(1.0, numbers.stored_length(i) / whole); };
  std::fill(out.begin(), out.end(), Elements{around * whole * chance(0) * chance(1), around});
}

StepCounts steps_of_gallop(const NodeNumbers& n) {
  return {.steps = n.own.looks + n.output(0).stops + 1};
}

/// The positions of two fibers for each pair of references, and the coordinates looked at.
ByteCounts bytes_of_gallop(const NodeNumbers& n) {
  return {.read = 2 * 8 * n.own.present - 4 * n.own.successors + 4 * n.own.looked_at};
}

}  // namespace

constinit const NodeRule gallop_rule = {
    .name = "gallop",
    .fields = NodeFields{.tensor = true, .level = true, .other_level = true},
    .family = NodeFamily::read,
    .unit = UnitClass::locate,
    .typing = type_gallop,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = NodeWaits{.selects = true, .looks_ahead = true, .apart = waits::in_step},
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::one_computed,
    .shaping = shaping::all_inputs,
    .fiber = fiber_of_gallop,
    .elements = elements_of_gallop,
    .steps = steps_of_gallop,
    .flops = flops::none,
    .bytes = bytes_of_gallop,
    .place = place::all_same,
    .exchange =
        ExchangeForm{.refused = "a node that reads two levels has no form; `join j = merge` "
                                "scans them"},
};

}  // namespace fuseflow
