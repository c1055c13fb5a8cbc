// root: the reference where a phase starts.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

/// All roots of a phase open the same space.
void type_root(Typing& t) {
  if (!t.counts(0, 1)) return;
  t.give(0, StreamKind::ref, t.open_counted(-1, -1, t.node().phase));
}

}  // namespace

constinit const NodeRule root_rule = {
    .name = "root",
    .fields = NodeFields{},
    .family = NodeFamily::root,
    .unit = UnitClass::root,
    .typing = type_root,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
};

}  // namespace fuseflow
