// The joins: coordinates of several groups, merged. They differ in which coordinates they keep.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// A payload follows the coordinates of its group.
int carried_by_join(const Node& node, size_t port) {
  size_t input = 0;
  size_t next = 1;
  for (const int group : node.groups) {
    const auto payloads = static_cast<size_t>(group) - 1;
    if (port >= next && port < next + payloads) return static_cast<int>(input + 1 + port - next);
    input += payloads + 1;
    next += payloads;
  }
  return -1;
}

/// The coordinates of all groups are of one loop below one space. `opened`: the space of the
/// outputs. Payloads may be absent from group `first_absent` on.
void type_groups(Typing& t, int opened, size_t first_absent) {
  const std::vector<int>& groups = t.node().groups;
  size_t at = 0;
  size_t port = 1;
  for (size_t group = 0; group < groups.size(); ++group) {
    if (!t.is_kind(at, StreamKind::crd) || !t.same_loop(0, at)) return;
    if (group == 0) t.give(0, StreamKind::crd, opened);
    for (int k = 1; k < groups[group]; ++k) {
      if (!t.same_space(at, at + k)) return;
      t.give_like(port++, t.in(at + k), opened, group >= first_absent);
    }
    at += groups[group];
  }
}

bool groups_given(Typing& t) {
  const size_t groups = t.node().groups.size();
  if (groups < 2) return t.fail("has fewer than two groups, expected at least two");
  return t.output_count(t.inputs() - groups + 1);
}

int new_space(Typing& t) {
  const int first = t.space(0);
  return t.parent(first) < 0 ? -1 : t.open(t.parent(first), t.index(first));
}

void type_intersect(Typing& t) {
  if (groups_given(t)) type_groups(t, new_space(t), t.node().groups.size());
}

void type_unite(Typing& t) {
  if (groups_given(t)) type_groups(t, new_space(t), 0);
}

/// The coordinates of the first group stay as they are.
void type_leftjoin(Typing& t) {
  if (groups_given(t)) type_groups(t, t.space(0), 1);
}

}  // namespace

constinit const NodeRule intersect_rule = {
    .name = "intersect",
    .fields = NodeFields{.groups = true},
    .family = NodeFamily::join,
    .unit = UnitClass::join,
    .typing = type_intersect,
    .carried = carried_by_join,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
};

constinit const NodeRule unite_rule = {
    .name = "unite",
    .fields = NodeFields{.groups = true, .init = true},
    .family = NodeFamily::join,
    .unit = UnitClass::join,
    .typing = type_unite,
    .carried = carried_by_join,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
};

constinit const NodeRule leftjoin_rule = {
    .name = "leftjoin",
    .fields = NodeFields{.groups = true, .init = true},
    .family = NodeFamily::join,
    .unit = UnitClass::join,
    .typing = type_leftjoin,
    .carried = carried_by_join,
    .block = blocks::of_carried,
    .check_block = blocks::no_check,
};

}  // namespace fuseflow
