// The joins: coordinates of several groups, merged. They differ in which coordinates they keep.
#include <fmt/format.h>

#include <algorithm>

#include "nodes/rules.h"
#include "nodes/typing.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// A payload follows the coordinates of its group.
int carried_by_join(const Node& node, size_t port) {
  for (const InputGroup& group : groups_of(node)) {
    const size_t payload = port - group.port + 1;
    if (port >= group.port && payload < group.size) return static_cast<int>(group.first + payload);
  }
  return -1;
}

/// The coordinates of all groups are of one loop below one space, and payloads go with them.
InputPlace place_in_join(const Node& node, size_t input) {
  const size_t first = groups_of(node)[group_of(node, input)].first;
  if (input != first) return {InputPlace::Relation::same, first};
  return first == 0 ? InputPlace{} : InputPlace{InputPlace::Relation::beside, 0};
}

void type_join(Typing& t) {
  const std::vector<InputGroup> groups = groups_of(t.node());
  if (groups.size() < 2) {
    return (void)t.fail("has fewer than two groups, expected at least two");
  }
  if (!t.output_count(t.inputs() - groups.size() + 1)) return;
  const JoinRule& join = *join_rule(t.node().kind);
  int opened = -1;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto [at, size, port] = groups[g];
    if (!t.is_kind(at, StreamKind::crd) || !t.placed()) return;
    if (g == 0) {
      const int first = t.space(0);
      opened = join.in_first_space ? first : t.open(t.parent(first), t.index(first));
      t.give(0, StreamKind::crd, opened);
    }
    for (size_t k = 1; k < size; ++k) {
      t.give_like(port + k - 1, t.in(at + k), opened, g >= join.absent_from);
    }
  }
}

/// Words are those of the levels: each group's coordinates are as its level stores them.
void type_word_join(Typing& t) {
  for (const InputGroup& group : groups_of(t.node())) {
    const Node& opener = t.opener(group.first);
    const bool words = opener.kind == NodeKind::scan && opener.tensor >= 0 && opener.offset == 0 &&
                       t.tensor(opener.tensor).format.levels[opener.level] == LevelKind::bitvector;
    if (!words) {
      return (void)t.fail(
          fmt::format("{} is not opened by a scan of a bitvector level without offset, which has "
                      "the words",
                      t.type(t.in(group.first))));
    }
  }
  type_join(t);
}

/// Whether a group is taken depends on the coordinates of the others.
bool in_other_groups(const Node& node, size_t a, size_t b) {
  return group_of(node, a) != group_of(node, b);
}

void origins_of_leftjoin(const Node& node, FiberOrigins& origins) {
  for (int i = 0; i < node.groups[0]; ++i) {
    const auto k = static_cast<size_t>(i);
    origins.same(node.outputs[k], node.inputs[k].stream);
  }
}

/// Payloads that shape something, with the coordinates that they go with.
void add_payloads(const Node& node, ShapingInputs& inputs) {
  for (const auto& [at, size, port] : groups_of(node)) {
    for (size_t k = 1; k < size; ++k) {
      if (!inputs.shapes(node.outputs[port + k - 1])) continue;
      inputs.add(node.inputs[0].stream);
      inputs.add(node.inputs[at].stream);
      inputs.add(node.inputs[at + k].stream);
    }
  }
}

void shaping_of_join(const Node& node, ShapingInputs& inputs) {
  for (const InputGroup& group : groups_of(node)) inputs.add(node.inputs[group.first].stream);
  add_payloads(node, inputs);
}

/// A left join keeps what its first group has; the others only tell what is absent.
void shaping_of_leftjoin(const Node& node, ShapingInputs& inputs) {
  add_payloads(node, inputs);
}

/// What `of` says of the coordinates of each group.
template <typename Of>
std::vector<double> by_group(const Node& node, const Of& of) {
  std::vector<double> result;
  for (const InputGroup& group : groups_of(node)) result.push_back(of(group.first));
  return result;
}

double chance_of(const Node& node, const std::vector<double>& groups) {
  return join_rule(node.kind)->chance(groups);
}

/// Groups are independent: a coordinate is in one with probability length / whole.
Fiber fiber_of_join(const Node& node, FiberNumbers& numbers, int /*loop*/) {
  const double whole = numbers.whole();
  if (whole <= 0) return {};
  const auto chance = [&](size_t i) { return std::min(1.0, numbers.input(i).length / whole); };
  return expected_fiber(whole * chance_of(node, by_group(node, chance)), whole);
}

void elements_of_join(const Node& node, const ElementNumbers& numbers, std::span<Elements> out) {
  const double around = numbers.input(0).fibers;
  const double fibers = std::max(1.0, around);
  const double places = fibers * numbers.extent(0);
  const auto chance = [&](size_t i) { return std::min(1.0, numbers.input(i).count / places); };
  const double count = chance_of(node, by_group(node, chance)) * fibers * numbers.extent(0);
  std::fill(out.begin(), out.end(), Elements{count, around});
}

/// One for each coordinate met, whether it is kept or not.
StepCounts steps_of_join(const NodeNumbers& n) {
  return {.steps = n.own.met + n.output(0).stops + 1};
}

/// One for each coordinate given, and one for each word that gives none; the coordinates that some
/// group lacks cost nothing.
StepCounts steps_of_word_join(const NodeNumbers& n) {
  const double given = n.output(0).elements;
  return {.steps = given + n.own.silent_words + n.output(0).stops + 1,
          .free = std::max(0.0, n.own.met - given)};
}

double chance_of_all(std::span<const double> groups) {
  double all = 1;
  for (const double p : groups) all *= p;
  return all;
}

double chance_of_any(std::span<const double> groups) {
  double any = 0;
  for (const double p : groups) any = 1 - (1 - any) * (1 - p);
  return any;
}

double chance_of_first(std::span<const double> groups) {
  return groups[0];
}

bool all_have_it(size_t having, size_t groups, bool /*first*/) {
  return having == groups;
}

bool any_has_it(size_t /*having*/, size_t /*groups*/, bool /*first*/) {
  return true;
}

bool first_has_it(size_t /*having*/, size_t /*groups*/, bool first) {
  return first;
}

constexpr JoinRule kIntersect = {
    .keeps = all_have_it,
    .chance = chance_of_all,
    .absent_from = kNeverAbsent,
    .in_first_space = false,
    .by_words = false,
};

constexpr JoinRule kIntersectWords = {
    .keeps = all_have_it,
    .chance = chance_of_all,
    .absent_from = kNeverAbsent,
    .in_first_space = false,
    .by_words = true,
};

constexpr JoinRule kUnite = {
    .keeps = any_has_it,
    .chance = chance_of_any,
    .absent_from = size_t{0},
    .in_first_space = false,
    .by_words = false,
};

constexpr JoinRule kLeftjoin = {
    .keeps = first_has_it,
    .chance = chance_of_first,
    .absent_from = size_t{1},
    .in_first_space = true,
    .by_words = false,
};

/// A join that opens a space of its own. One that selects keeps what all groups have; of others
/// absent payloads are given a value.
constexpr NodeRule rule_of_join(std::string_view name, bool selects, const JoinRule* join,
                                void (*typing)(Typing&), StepCounts (*steps)(const NodeNumbers&)) {
  return {
      .name = name,
      .fields = NodeFields{.groups = true, .init = !selects},
      .family = NodeFamily::join,
      .unit = UnitClass::join,
      .typing = typing,
      .carried = carried_by_join,
      .block = blocks::of_carried,
      .check_block = blocks::no_check,
      .join = join,
      .waits = NodeWaits{.selects = selects, .looks_ahead = false, .apart = in_other_groups},
      .by_values = false,
      .holds = KeptState::nothing,
      .origins = origins::one_computed,
      .shaping = shaping_of_join,
      .fiber = fiber_of_join,
      .elements = elements_of_join,
      .steps = steps,
      .flops = flops::none,
      .bytes = bytes::none,
      .place = place_in_join,
      .exchange = exchanged::kExtension,
  };
}

/// A left join makes no fibers, but stays in those of its first group.
constexpr NodeRule rule_of_leftjoin() {
  NodeRule rule = rule_of_join("leftjoin", false, &kLeftjoin, type_join, steps_of_join);
  rule.origins = origins_of_leftjoin;
  rule.shaping = shaping_of_leftjoin;
  rule.fiber = fiber::not_made;
  rule.elements = elements::of_first;
  rule.exchange = exchanged::kInSpace;
  return rule;
}

}  // namespace

constinit const NodeRule intersect_rule =
    rule_of_join("intersect", true, &kIntersect, type_join, steps_of_join);
constinit const NodeRule intersect_words_rule =
    rule_of_join("intersect_words", true, &kIntersectWords, type_word_join, steps_of_word_join);
constinit const NodeRule unite_rule =
    rule_of_join("unite", false, &kUnite, type_join, steps_of_join);

constinit const NodeRule leftjoin_rule = rule_of_leftjoin();

}  // namespace fuseflow
