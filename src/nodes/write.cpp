// The writers: a stored level's coordinates, or the values. Before what they store come the
// coordinates of the dense levels directly above it.
#include <fmt/format.h>

#include "nodes/blocks.h"
#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// `count` coordinates, one a dense level.
bool leading_coordinates(Typing& t, size_t count, std::string_view last) {
  if (!t.output_count(0)) return false;
  if (t.inputs() != count + 1) {
    return t.fail(
        fmt::format("has {} inputs, expected {}: the coordinates of {} dense level(s), then "
                    "the {}",
                    t.inputs(), count + 1, count, last));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!t.is_kind(i, StreamKind::crd)) return false;
  }
  return true;
}

/// Dense levels directly above level `l`.
size_t dense_levels_above(const Typing& t, int l) {
  const std::vector<LevelKind>& levels = t.tensor().format.levels;
  size_t count = 0;
  while (l > 0 && levels[--l] == LevelKind::dense) ++count;
  return count;
}

void type_write_level(Typing& t) {
  if (t.tensor().format.levels[t.node().level] == LevelKind::dense) {
    return (void)t.fail(
        "the level is dense and is not written, expected its coordinates at the next "
        "level below that is not, or at write_values");
  }
  const size_t count = dense_levels_above(t, t.node().level);
  if (leading_coordinates(t, count, "level's coordinates")) t.is_kind(count, StreamKind::crd);
}

void type_write_values(Typing& t) {
  const int rank = t.tensor().format.rank();
  const size_t count = dense_levels_above(t, rank);
  if (!leading_coordinates(t, count, "values") || !t.is_kind(count, StreamKind::val)) return;
  const int depth = t.spaces().of(t.in(count)).depth;
  if (depth != rank) {
    t.fail(fmt::format("{} is nested {} deep, expected {} loops (the rank of %{})",
                       t.type(t.in(count)), depth, rank, t.tensor().name));
  }
}

void check_values(const BlockCheck& check) {
  check.expect_blocks_of_tensor(check.node().inputs.back().stream);
}

StepCounts steps_of_writer(const NodeNumbers& n) {
  const SpaceCount& written = n.last_input();
  return {.steps = written.elements, .stops = written.stops + 1};
}

/// Coordinates and positions.
ByteCounts bytes_of_write_level(const NodeNumbers& n) {
  return {.write = 4 * (n.own.stored + n.own.fibers)};
}

ByteCounts bytes_of_write_values(const NodeNumbers& n) {
  return {.write = n.own.stored * n.value_bytes};
}

}  // namespace

constinit const NodeRule write_level_rule = {
    .name = "write_level",
    .fields = NodeFields{.tensor = true, .level = true},
    .family = NodeFamily::write,
    .unit = UnitClass::write,
    .typing = type_write_level,
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
    .steps = steps_of_writer,
    .flops = flops::none,
    .bytes = bytes_of_write_level,
    .place = place::around_last,
    .exchange = exchanged::kOperation,
};

constinit const NodeRule write_values_rule = {
    .name = "write_values",
    .fields = NodeFields{.tensor = true},
    .family = NodeFamily::write,
    .unit = UnitClass::write,
    .typing = type_write_values,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = check_values,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps_of_writer,
    .flops = flops::none,
    .bytes = bytes_of_write_values,
    .place = place::around_last,
    .exchange = exchanged::kOperation,
};

}  // namespace fuseflow
