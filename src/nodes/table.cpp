// The rule of a node kind, by its row in graph/node_kinds.h.
#include <algorithm>
#include <iterator>

#include "nodes/rules.h"

namespace fuseflow {

namespace {

constexpr const NodeRule* kRules[] = {
#define FUSEFLOW_RULE(kind) &kind##_rule,
    FUSEFLOW_NODE_KINDS(FUSEFLOW_RULE)
#undef FUSEFLOW_RULE
};

}  // namespace

const NodeRule& node_rule(NodeKind kind) {
  return *kRules[static_cast<size_t>(kind)];
}

const char* node_kind_name(NodeKind kind) {
  return node_rule(kind).name->data();
}

std::optional<NodeKind> find_node_kind(std::string_view name) {
  const auto found = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const NodeRule* rule) { return *rule->name == name; });
  if (found == std::end(kRules)) return std::nullopt;
  return static_cast<NodeKind>(found - std::begin(kRules));
}

std::vector<std::string> node_kind_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kRules));
  for (const NodeRule* rule : kRules) names.emplace_back(*rule->name);
  return names;
}

}  // namespace fuseflow
