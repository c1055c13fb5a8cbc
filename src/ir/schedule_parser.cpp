#include "ir/schedule_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace fuseflow::ir {

namespace {

void parse_order(Cursor& c, const TensorNames& /*names*/, Schedule& schedule) {
  const Token token = c.next();
  if (!schedule.order.empty()) c.fail(token, "the region has two orders, expected one");
  do {
    schedule.order.push_back(c.expect_name("an index", "order i, j, k"));
  } while (c.accept(","));
}

void parse_place(Cursor& c, const TensorNames& names, Schedule& schedule) {
  c.next();
  UsePlacement use;
  use.tensor = resolve_tensor(c, names, c.next());
  if (c.accept("in")) use.consumer = resolve_tensor(c, names, c.next());
  c.expect("=", "place %t in %y = recompute");
  use.placement = parse_placement(c);
  schedule.placements.push_back(use);
}

void parse_parallel(Cursor& c, const TensorNames& /*names*/, Schedule& schedule) {
  c.next();
  Parallel parallel;
  parallel.index = c.expect_name("an index", "parallel i = 4");
  c.expect("=", "parallel i = 4");
  parallel.factor = c.expect_integer_in(1, 1 << 20, "a number of copies", "parallel i = 4");
  parallel.contiguous = c.accept("contiguous");
  schedule.parallel.push_back(std::move(parallel));
}

void parse_join(Cursor& c, const TensorNames& names, Schedule& schedule) {
  constexpr const char* kExample = "join j = locate %b";
  c.next();
  Join join;
  join.index = c.expect_name("an index", kExample);
  c.expect("=", kExample);
  const Token token = c.peek();
  const auto form = find_join_form(c.expect_name("a form", kExample));
  if (!form) c.unknown(token, "form of a join", join_form_names());
  join.form = *form;
  if (join.form == JoinForm::locate) {
    do {
      join.located.push_back(resolve_tensor(c, names, c.next()));
    } while (c.accept(","));
  }
  schedule.joins.push_back(std::move(join));
}

void parse_barriers(Cursor& c, const TensorNames& /*names*/, Schedule& schedule) {
  c.next();
  schedule.barriers = true;
}

struct ScheduleLine {
  const char* word;
  void (*parse)(Cursor&, const TensorNames&, Schedule&);
};

constexpr std::array<ScheduleLine, 5> kLines = {{{"order", parse_order},
                                                 {"place", parse_place},
                                                 {"parallel", parse_parallel},
                                                 {"join", parse_join},
                                                 {"barriers", parse_barriers}}};

const ScheduleLine* find_line(const Token& token) {
  const auto* found = std::find_if(kLines.begin(), kLines.end(),
                                   [&](const ScheduleLine& line) { return token.is(line.word); });
  return found == kLines.end() ? nullptr : found;
}

}  // namespace

bool begins_schedule_line(const Token& token) {
  return find_line(token) != nullptr;
}

void parse_schedule_line(Cursor& cursor, const TensorNames& names, Schedule& schedule) {
  find_line(cursor.peek())->parse(cursor, names, schedule);
}

Placement parse_placement(Cursor& cursor) {
  const Token token = cursor.peek();
  const auto placement = find_placement(cursor.expect_name("a placement", "place %t = scratchpad"));
  if (!placement) {
    cursor.unknown(token, "placement", {"stream", "recompute", "scratchpad", "memory"});
  }
  return *placement;
}

}  // namespace fuseflow::ir
