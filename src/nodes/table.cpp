// The rule of a node kind, by its row in FUSEFLOW_NODE_KINDS.
#include <array>

#include "nodes/rules.h"

namespace fuseflow {

namespace {

struct Row {
  NodeKind kind;
  const NodeRule* rule;
};

constexpr size_t kKinds = static_cast<size_t>(NodeKind::count_);

constexpr Row kRows[] = {
#define FUSEFLOW_ROW(kind) {NodeKind::kind, &kind##_rule},
    FUSEFLOW_NODE_KINDS(FUSEFLOW_ROW)
#undef FUSEFLOW_ROW
};

constexpr bool in_order() {
  size_t kind = 0;
  for (const Row& row : kRows) {
    if (static_cast<size_t>(row.kind) != kind++) return false;
  }
  return kind == kKinds;
}
static_assert(in_order(),
              "every node kind has its row in FUSEFLOW_NODE_KINDS, in the order of NodeKind");

}  // namespace

const NodeRule& node_rule(NodeKind kind) {
  return *kRows[static_cast<size_t>(kind)].rule;
}

const char* node_kind_name(NodeKind kind) {
  return node_rule(kind).name->data();
}

std::optional<NodeKind> find_node_kind(std::string_view name) {
  for (const Row& row : kRows) {
    if (*row.rule->name == name) return row.kind;
  }
  return std::nullopt;
}

std::vector<std::string> node_kind_names() {
  std::vector<std::string> names;
  names.reserve(kKinds);
  for (const Row& row : kRows) names.emplace_back(*row.rule->name);
  return names;
}

}  // namespace fuseflow
